import { setTimeout as delay } from 'node:timers/promises';

const INITIAL_MS = 100;
const MAXIMUM_MS = 5_000;

/** Waits longer after each failure, 100 ms doubling to 5 s, and starts over after a success. */
export interface Backoff {
  /** Waits, or returns at once when the signal is aborted; `slowly` goes straight to the longest wait. */
  wait(options?: { slowly?: boolean; atMostMs?: number }): Promise<void>;
  reset(): void;
}

export function createBackoff(signal: AbortSignal): Backoff {
  let nextMs = INITIAL_MS;
  return {
    async wait({ slowly = false, atMostMs = MAXIMUM_MS } = {}) {
      const waitMs = Math.min(slowly ? MAXIMUM_MS : nextMs, atMostMs);
      nextMs = Math.min(nextMs * 2, MAXIMUM_MS);
      await delay(Math.max(0, waitMs), undefined, { signal }).catch(() => {});
    },
    reset() {
      nextMs = INITIAL_MS;
    },
  };
}
