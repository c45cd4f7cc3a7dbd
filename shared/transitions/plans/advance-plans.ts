import type { Db } from '../../db/database.ts';
import type { ExecutionId } from '../../model/ids.ts';
import { judgePlan } from '../../model/plan.ts';
import type { FinishedExecution } from '../finish-executions.ts';
import { finishPlans } from './finish-plans.ts';
import { readRestingPlans } from './read-resting-plans.ts';
import { releaseGroups } from './release-groups.ts';

/**
 * Lets locked plans go on, whoever has moved them: their start, the end of a step, a cancellation, recovery or a manager that looks after them. Each either waits for steps that
 * are under way, releases its next group, or ends; the ended ones are given, for the caller to settle like every other run that ended. Decided from what is there after the lock, so
 * it may be called as often as somebody likes.
 */
export async function advancePlans(db: Db, planIds: ExecutionId[]): Promise<FinishedExecution[]> {
  if (!planIds.length) return [];
  const verdicts = (await readRestingPlans(db, planIds)).map(({ id, ...plan }) => ({ id, ...judgePlan(plan) }));
  await releaseGroups(
    db,
    verdicts.filter((plan) => plan.verdict === 'release'),
  );
  return finishPlans(
    db,
    verdicts.filter((plan) => plan.verdict === 'end'),
  );
}
