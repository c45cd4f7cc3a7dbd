/** A timer that goes off late counts once, so what the process itself stood still, in code that blocks it or in a debugger, counts little. */
const TICKS = 10;

/**
 * Waits for an answer, and no longer than this: a connection that has fallen silent, because the other end is gone without a word, would otherwise be waited for until nothing can be
 * done any more. It counts as lost. What was asked may still happen, so it must be safe to repeat.
 */
export function within<Result>(milliseconds: number, work: Promise<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    let left = TICKS;
    const timer = setInterval(() => {
      left--;
      if (left > 0) return;
      clearInterval(timer);
      reject(Object.assign(new Error(`the database did not answer within ${milliseconds} ms`), { code: 'ETIMEDOUT' }));
    }, milliseconds / TICKS);
    work.then(resolve, reject).finally(() => clearInterval(timer));
  });
}
