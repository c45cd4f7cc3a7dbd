import { HangingRunError } from './run-execution.ts';

/** One after the other, however they are called: two that move the clock at once would not know where it stands. What was given up is waited for at the end. */
export function takeTurns() {
  const stopping: Promise<unknown>[] = [];
  let last: Promise<unknown> = Promise.resolve();
  return {
    inTurn(work: () => Promise<void>): Promise<void> {
      const turn = last.then(work);
      last = turn.catch((error) => {
        if (error instanceof HangingRunError) stopping.push(error.stopped);
      });
      return turn;
    },
    async allOver(): Promise<void> {
      await last;
      await Promise.allSettled(stopping);
    },
  };
}
