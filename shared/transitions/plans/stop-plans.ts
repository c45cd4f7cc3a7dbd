import type { Db } from '../../db/database.ts';
import { sql } from '../../db/sql.ts';
import type { ExecutionId, WorkQueueId } from '../../model/ids.ts';
import { cancelEntries } from '../cancel-entries.ts';
import type { Outcome } from '../finish-executions.ts';

export interface PlanStop {
  planId: ExecutionId;
  /** Why it ends failed; without it, it was cancelled. */
  failure?: { code: string; message: string };
}

/**
 * Asks locked plans to stop: the steps that run are asked to stop too, and those that nobody has started are given as outcomes for the caller to record with the others. The plan ends
 * when its last step has, perhaps at once. Repeating it finds nothing more to do.
 *
 * Entries come before executions, as everywhere, and all that steps were admitted through, not only what is queued: a step that goes to sleep or wakes up right now holds its entry first.
 */
export async function stopPlans(db: Db, stops: PlanStop[], outcomes: Outcome[]): Promise<Outcome[]> {
  if (!stops.length) return [];
  const planIds = await requestStop(db, stops);
  const queued = await lockEntries(db, planIds);
  const steps = await lockSteps(
    db,
    planIds,
    outcomes.map(({ executionId }) => executionId),
  );
  if (queued.length) await cancelEntries(db, { ids: queued }, 'its plan was stopped');
  await db.query(sql`
    update waybill.execution set cancel_requested_at = waybill.now()
     where id = any(${steps.filter(({ isStarted }) => isStarted).map(({ id }) => id)}::bigint[]) and cancel_requested_at is null`);
  return steps
    .filter(({ isStarted }) => !isStarted)
    .map(({ id, planId }) => ({ executionId: id, planId, leaseToken: null, isUnclaimed: true, state: 'cancelled' }));
}

/** The first reason stays: a plan that was cancelled does not run out of time any more, and one that did is not cancelled. */
async function requestStop(db: Db, stops: PlanStop[]): Promise<ExecutionId[]> {
  const rows = stops.map(({ planId, failure }) => ({ id: planId, code: failure?.code, message: failure?.message }));
  const stopped = await db.query<{ id: ExecutionId }>(sql`
    update waybill.execution plan
       set cancel_requested_at = coalesce(plan.cancel_requested_at, waybill.now()), deadline_at = null,
           failure_code = case when plan.cancel_requested_at is null then s.code else plan.failure_code end,
           failure_message = case when plan.cancel_requested_at is null then s.message else plan.failure_message end
      from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as s (id bigint, code text, message text)
     where plan.id = s.id and plan.group_count is not null and plan.finished_at is null
    returning plan.id`);
  return stopped.map(({ id }) => id);
}

async function lockEntries(db: Db, planIds: ExecutionId[]): Promise<WorkQueueId[]> {
  const entries = await db.query<{ id: WorkQueueId; isQueued: boolean }>(sql`
    select w.id, w.status = 'queued' as "isQueued" from waybill.work_queue w
     where w.id in (
       select step.work_queue_id from waybill.execution step
        where step.parent_id = any(${planIds}::bigint[]) and step.finished_at is null and step.work_queue_id is not null
       union
       select q.id from waybill.execution step join waybill.work_queue q on q.execution_id = step.id and q.status = 'queued'
        where step.parent_id = any(${planIds}::bigint[]) and step.finished_at is null)
     order by w.id for no key update`);
  return entries.filter(({ isQueued }) => isQueued).map(({ id }) => id);
}

interface LockedStep {
  id: ExecutionId;
  planId: ExecutionId;
  isStarted: boolean;
}

/** The steps, together with what else the caller is about to end, so that nobody who holds several executions waits in a circle. What a row says of itself is what it says now. */
async function lockSteps(db: Db, planIds: ExecutionId[], otherIds: ExecutionId[]): Promise<LockedStep[]> {
  const locked = await db.query<LockedStep & { isStep: boolean; isEnded: boolean }>(sql`
    select e.id, e.parent_id as "planId", e.state = 'in_progress' as "isStarted", e.finished_at is not null as "isEnded",
           e.parent_id is not null and e.parent_id = any(${planIds}::bigint[]) as "isStep"
      from waybill.execution e
     where e.id in (select step.id from waybill.execution step where step.parent_id = any(${planIds}::bigint[]) and step.finished_at is null
                    union
                    select unnest(${otherIds}::bigint[]))
     order by e.id for no key update`);
  return locked.filter(({ isStep, isEnded }) => isStep && !isEnded).map(({ id, planId, isStarted }) => ({ id, planId, isStarted }));
}
