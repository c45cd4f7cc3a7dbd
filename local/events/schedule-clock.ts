/** Far below the longest timer of Node (24.8 days), and short enough that a laptop which slept notices soon after it wakes. */
const LONGEST_TIMER_MS = 30_000;

/** What a schedule needs of time; tests move it by hand. */
export interface ScheduleClock {
  now(): Date;
  /** Calls back at an instant, or soon after if that has passed; the answer cancels it. */
  setTimer(at: Date, callback: () => void): () => void;
}

/**
 * The real clock. Timers count running time, which stands still while a machine sleeps, so a long wait is cut into short ones that each look at the wall
 * clock.
 */
export const systemClock: ScheduleClock = {
  now: () => new Date(),
  setTimer(at, callback) {
    let timer: NodeJS.Timeout;
    const wait = () => {
      timer = setTimeout(look, Math.min(Math.max(0, at.getTime() - Date.now()), LONGEST_TIMER_MS));
    };
    // A timer may also fire a millisecond early; calling back before the instant would make the next occurrence the same one.
    const look = () => (Date.now() < at.getTime() ? wait() : callback());
    wait();
    return () => clearTimeout(timer);
  },
};

/** Resolves at an instant; false when the signal came first. */
export function waitUntil(clock: ScheduleClock, at: Date, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve(false);
    const stop = () => {
      cancel();
      resolve(false);
    };
    const cancel = clock.setTimer(at, () => {
      signal.removeEventListener('abort', stop);
      resolve(true);
    });
    signal.addEventListener('abort', stop, { once: true });
  });
}
