import type { PlanFacts, PlanStepRow } from '../db/queries/plan-facts.ts';
import { explainAdmission } from './explain-queue.ts';
import { count, instantSeenFrom } from './phrases.ts';
import type { PoolSizes, Reason } from './why.ts';

/** Why a step of a plan has not begun, or does not go on; nothing, if it runs or has ended. The pools are left out where they are not known. */
export function explainStep(step: PlanStepRow, facts: PlanFacts, pools?: PoolSizes): Reason[] {
  if (step.state !== 'waiting') return [];
  const now = new Date(facts.now);
  const { entry } = step;
  if (!entry) {
    const before = count(step.groupIndex - facts.currentGroupIndex, 'group');
    return [{ code: 'not_released', message: `${before} before its own ${before.startsWith('1 ') ? 'has' : 'have'} to be over` }];
  }
  const until = instantSeenFrom(now, entry.availableAt);
  if (new Date(entry.availableAt) > now)
    return step.startedAt
      ? [{ code: 'sleeping', message: `it sleeps until ${until} and takes no slot meanwhile` }]
      : [{ code: 'retry_wait', message: `attempt ${step.attempt} of ${step.maxAttempts} waits until ${until}` }];
  const obstacles = explainAdmission(facts, entry, pools);
  if (obstacles.length) return obstacles;
  return [
    {
      code: 'queued',
      message: `entry ${entry.id} has been queued since ${instantSeenFrom(now, entry.createdAt)}: the dispatcher's next claim admits it`,
    },
  ];
}

/** Where a running plan is, and what becomes of each unfinished step of the group that it is at. */
export function explainPlan(facts: PlanFacts, pools?: PoolSizes): Reason[] {
  const { currentGroupIndex, groupCount, steps } = facts;
  const unfinished = steps.filter(({ groupIndex, finishedAt }) => groupIndex === currentGroupIndex && finishedAt === null);
  const where = {
    code: 'plan_group',
    message: `it is at group ${currentGroupIndex + 1} of ${groupCount}, with ${count(unfinished.length, 'step')} not over`,
  };
  return [where, ...unfinished.flatMap((step) => explainUnfinished(step, facts, pools))];
}

function explainUnfinished(step: PlanStepRow, facts: PlanFacts, pools?: PoolSizes): Reason[] {
  const { name, executionId, state, attempt, startedAt } = step;
  if (state === 'in_progress') {
    const since = instantSeenFrom(new Date(facts.now), startedAt!);
    return [
      { code: 'step_running', message: `step '${name}', execution ${executionId}, attempt ${attempt}, has been running since ${since}` },
    ];
  }
  if (state === 'pending')
    return [{ code: 'step_starting', message: `step '${name}', execution ${executionId}, was admitted and waits for an executor` }];
  return explainStep(step, facts, pools).map(({ code, message }) => ({ code, message: `step '${name}' waits: ${message}` }));
}
