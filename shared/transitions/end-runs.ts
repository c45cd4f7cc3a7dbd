import type { Db } from '../db/database.ts';
import type { ExecutionId } from '../model/ids.ts';
import { endNestedRuns } from './end-nested-runs.ts';
import { type FinishedExecution, finishExecutions, type Outcome } from './finish-executions.ts';
import { lockConcerned } from './lock-concerned.ts';
import { advancePlans } from './plans/advance-plans.ts';
import { lockPlans } from './plans/lock-plans.ts';
import { retrySteps } from './plans/retry-steps.ts';
import { type PlanStop, stopPlans } from './plans/stop-plans.ts';
import { settleRuns } from './settle-runs.ts';

export type { Failure, FinalState, Outcome } from './finish-executions.ts';
export type { PlanStop } from './plans/stop-plans.ts';

export interface EndedRun extends Omit<FinishedExecution, 'isFinal' | 'isLastAttempt' | 'isPlan' | 'planId' | 'counts'> {
  /** What follows: a retry was queued, a dead letter was written, or nothing. */
  next: 'retry' | 'dead_letter' | null;
  /** Whether this outcome, or one recorded with it, gave the manager something to do. */
  wakesManager: boolean;
}

/** What is to be done about plans, beside going on with those whose steps end. */
export interface PlanMoves {
  /** Plans to look after, because they were just made or nothing moves in them. */
  advance?: ExecutionId[];
  stop?: PlanStop[];
}

/**
 * Ends runs as one set, in the caller's transaction: final states, counters, consumed successes, retries, dead letters, and who is due because of it.
 * Only the lease holder's outcome counts; an execution that is missing from the answer was ended by somebody else, or belongs to another executor by now.
 * With the end of a step its plan goes on, or ends too; then it is among the answers.
 *
 * Plans are locked before manifests and these before executions, each kind in one statement and in the order of ids, so that outcomes of several invocations never
 * wait for each other in a circle; counts are read in the statements after the lock. Killed before the commit, nothing of it has happened.
 */
export async function endRuns(db: Db, outcomes: Outcome[], { advance = [], stop = [] }: PlanMoves = {}): Promise<EndedRun[]> {
  if (!outcomes.length && !advance.length && !stop.length) return [];
  const planIds = await lockPlans(db, {
    planIds: [...advance, ...stop.map(({ planId }) => planId), ...outcomes.flatMap(({ planId }) => planId ?? [])],
    stepIds: outcomes.filter(({ planId }) => planId === undefined).map(({ executionId }) => executionId),
  });
  const locked = await lockConcerned(db, { outcomes, planIds, stoppedPlanIds: stop.map(({ planId }) => planId) });
  const ending = [...outcomes, ...(await stopPlans(db, stop, outcomes))];
  const finished = ending.length ? await finishExecutions(db, ending) : [];
  const hasNoParts = new Set(ending.filter((outcome) => outcome.hasNoParts).map(({ executionId }) => executionId));
  await endNestedRuns(
    db,
    finished.map(({ executionId }) => executionId).filter((id) => !hasNoParts.has(id)),
  );
  const retriedSteps = finished
    .filter(({ planId, state, isFinal, isLastAttempt }) => planId !== null && state === 'failed' && !isFinal && !isLastAttempt)
    .map(({ executionId }) => executionId);
  await retrySteps(db, retriedSteps);
  const all = [...finished, ...(await advancePlans(db, planIds))];
  if (!all.length) return [];
  const { retried, deadLettered, wakesManager } = await settleRuns(
    db,
    all.filter(({ isChild }) => !isChild),
    locked,
  );
  const again = new Set([...retried, ...retriedSteps]);
  return all.map(({ isFinal: _, isLastAttempt: __, isPlan: ___, planId: ____, counts: _____, ...run }) => ({
    ...run,
    wakesManager: wakesManager || retriedSteps.length > 0,
    next: again.has(run.executionId) ? 'retry' : deadLettered.includes(run.executionId) ? 'dead_letter' : null,
  }));
}
