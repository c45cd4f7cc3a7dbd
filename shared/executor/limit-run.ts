import { reasons } from './run-aborted.ts';
import type { ExecutorTimings } from './timings.ts';

export interface InvocationLimits {
  /** When runs must stop, on the clock of `performance.now()`. */
  stopAt: number;
  graceMs: number;
}

/** Leaves enough of the function's time for workflows to notice their signal and for their outcomes to be recorded, however little there is. */
export function limitInvocation(remainingMs: number, { recordingMs, graceMs }: ExecutorTimings): InvocationLimits {
  const reservedMs = Math.min(recordingMs, remainingMs / 3);
  return { stopAt: performance.now() + remainingMs - reservedMs, graceMs: Math.min(graceMs, reservedMs / 2) };
}

export interface RunLimits {
  timeoutSeconds: number | null;
  stopAt: number;
}

/** Timers take no more than this. */
const LONGEST_MS = 2 ** 31 - 1;

/** How long the run may take, from now. */
export function allowedMs({ timeoutSeconds, stopAt }: RunLimits): number {
  const untilStopMs = Math.max(stopAt - performance.now(), 0);
  return Math.min(untilStopMs, timeoutSeconds ? timeoutSeconds * 1000 : LONGEST_MS, LONGEST_MS);
}

/** Aborts the run at its own timeout or at the invocation's end, whichever comes first, unless stopped. */
export function startLimits(limits: RunLimits, abort: AbortController): { stop(): void } {
  const { timeoutSeconds, stopAt } = limits;
  const isTimeout = timeoutSeconds !== null && performance.now() + timeoutSeconds * 1000 < stopAt;
  const timer = setTimeout(() => abort.abort(isTimeout ? reasons.timeout(timeoutSeconds) : reasons.deadline()), allowedMs(limits));
  return { stop: () => clearTimeout(timer) };
}
