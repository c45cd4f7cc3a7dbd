import type { Outcome } from '../transitions/end-runs.ts';

/** Outcomes that arrive within this time share one commit. */
const WINDOW_MS = 20;

/** Gathers outcomes into sets for `record`, never holding one back for the slowest run of the batch. */
export function collectOutcomes(record: (batch: Outcome[]) => Promise<void>) {
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
    /** `isLast` says that no other run is under way, so there is nothing to wait for. */
    add(outcome: Outcome, isLast: boolean): void {
      waiting.push(outcome);
      if (isLast) flush();
      else timer ??= setTimeout(flush, WINDOW_MS);
    },
    /** Resolves when everything added so far has been recorded. */
    async settled(): Promise<void> {
      flush();
      await recording;
    },
  };
}
