/** A group of a running plan, each of its steps judged by its last attempt. */
export interface PlanGroup {
  index: number;
  unfinishedCount: number;
  /** Of the unfinished steps those that wait and have no entry in the queue. */
  unreleasedCount: number;
  /** Steps that failed or were cancelled although their own `continueOnFailure` is false, the first one in time. */
  fatal: FatalStep | null;
  fatalCount: number;
  /** Steps that ended with warnings, or badly and tolerated. */
  warnedCount: number;
}

export interface FatalStep {
  name: string;
  state: 'failed' | 'cancelled';
  message: string | null;
}

/** A plan in which no step is queued, pending or in progress: somebody has to decide what comes next. */
export interface RestingPlan {
  isStopRequested: boolean;
  /** It was asked to stop because it failed as a whole, not because somebody cancelled it. */
  isStopFailure: boolean;
  /** In their order. */
  groups: PlanGroup[];
}

export type PlanVerdict =
  | { verdict: 'wait' }
  | { verdict: 'release'; groupIndex: number }
  | { verdict: 'end'; state: 'completed' | 'completed_with_warnings' | 'cancelled' }
  /** Without a failure it was noted when the plan was asked to stop. */
  | { verdict: 'end'; state: 'failed'; failure?: { step: string; message: string } };

/**
 * What becomes of a plan. Its groups are gone through in order: one that is over is passed, one with steps that are not in the queue yet is released, and one in which a step
 * failed that must not ends the plan, once its other steps are over; a later group that is lost already is not begun. Pure, so that whoever looks comes to the same verdict, however often.
 */
export function judgePlan({ isStopRequested, isStopFailure, groups }: RestingPlan): PlanVerdict {
  if (isStopRequested) {
    if (groups.some(({ unfinishedCount }) => unfinishedCount > 0)) return { verdict: 'wait' };
    return isStopFailure ? { verdict: 'end', state: 'failed' } : { verdict: 'end', state: 'cancelled' };
  }
  for (const { index, unfinishedCount, unreleasedCount, fatal, fatalCount } of groups) {
    if (unfinishedCount > unreleasedCount) return { verdict: 'wait' };
    if (fatal) return { verdict: 'end', state: 'failed', failure: { step: fatal.name, message: describe(fatal, fatalCount - 1) } };
    if (unreleasedCount > 0) return { verdict: 'release', groupIndex: index };
  }
  const isSpotless = groups.every(({ warnedCount }) => warnedCount === 0);
  return { verdict: 'end', state: isSpotless ? 'completed' : 'completed_with_warnings' };
}

function describe({ name, state, message }: FatalStep, otherCount: number): string {
  const what = state === 'cancelled' ? `step '${name}' was cancelled` : `step '${name}' failed${message ? `: ${message}` : ''}`;
  if (otherCount === 0) return what;
  return `${what}; ${otherCount} other ${otherCount === 1 ? 'step' : 'steps'} of its group did not succeed either`;
}
