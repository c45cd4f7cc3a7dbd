/** What is kept even if steps seem to take no time at all: a tenth of the invocation, and not more than this. */
const LARGEST_FLOOR_MS = 5_000;
/** A step that takes a little longer than the longest before it should still end in time. */
const SLACK = 1.25;

export interface Pace {
  /**
   * Whether a step that takes as long as the longest of this invocation would be cut off. The first one is begun whatever is left: nobody knows how long it takes, and an invocation
   * that begins none gets nowhere.
   */
  isTooLate(): boolean;
  /** Gives the function to call when the step has ended. */
  begin(): () => void;
}

/** Knows how long the steps of this invocation take, and so when to begin no further one. Steps of earlier invocations do not count: their functions may have been others. */
export function createPace(stopAt: number): Pace {
  const floorMs = Math.min((stopAt - performance.now()) / 10, LARGEST_FLOOR_MS);
  let longestMs = 0;
  let hasBegun = false;
  return {
    isTooLate() {
      const leftMs = stopAt - performance.now();
      return hasBegun ? leftMs < Math.max(longestMs * SLACK, floorMs) : leftMs <= 0;
    },
    begin() {
      hasBegun = true;
      const begunAt = performance.now();
      return () => {
        longestMs = Math.max(longestMs, performance.now() - begunAt);
      };
    },
  };
}
