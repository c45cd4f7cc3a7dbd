import type { Outcome } from '../transitions/end-runs.ts';

/** Gathers outcomes that come within a short time into sets for `record`, one set after the other, never holding one back for the slowest run of the batch. */
export function collectOutcomes(windowMs: number, record: (batch: Outcome[]) => Promise<void>) {
  let waiting: Outcome[] = [];
  let timer: NodeJS.Timeout | undefined;
  let recording = Promise.resolve();

  function flush(): void {
    clearTimeout(timer);
    timer = undefined;
    const batch = waiting;
    waiting = [];
    if (batch.length) recording = recording.then(() => record(batch));
  }

  return {
    add(outcome: Outcome): void {
      waiting.push(outcome);
      timer ??= setTimeout(flush, windowMs);
    },
    /** Resolves when everything added so far has been recorded; waits for nothing else. */
    async settled(): Promise<void> {
      flush();
      await recording;
    },
  };
}
