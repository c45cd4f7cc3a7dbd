import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { ExecutionId, WorkQueueId } from '../model/ids.ts';
import { admittedCounts, admittedInput } from './admit-entries.ts';
import { takeOverSteps } from './take-over-steps.ts';

interface CreatedPlan {
  id: ExecutionId;
  /** It goes on where an earlier execution of its run ended badly. */
  isResumed: boolean;
}

/**
 * Turns locked entries into running plans with all of their steps, as sets: from here on the definition may change without touching them. Nothing is released yet.
 */
export async function createPlans(db: Db, entryIds: WorkQueueId[]): Promise<ExecutionId[]> {
  const plans = await createExecutions(db, entryIds);
  const ids = plans.map(({ id }) => id);
  if (ids.length) await createSteps(db, ids);
  await takeOverSteps(
    db,
    plans.filter(({ isResumed }) => isResumed).map(({ id }) => id),
  );
  return ids;
}

/** In progress without a lease, since nobody holds it: its steps are what runs. `on conflict` only backs the locks up: one unfinished execution per manifest. */
function createExecutions(db: Db, entryIds: WorkQueueId[]): Promise<CreatedPlan[]> {
  return db.query<CreatedPlan>(sql`
    with entry as materialized (
      select nextval('waybill.execution_id_seq') as new_id, w.*, ${admittedInput} as admitted_input, ${admittedCounts} as admitted_counts,
             (select coalesce(max(s.group_index) + 1, 0) from waybill.plan_step s where s.plan_id = m.id) as group_count
        from unnest(${entryIds}::bigint[]) with ordinality as chosen (id, place)
        join waybill.work_queue w on w.id = chosen.id
        join waybill.manifest m on m.id = w.manifest_id
       where w.status = 'queued'
       order by chosen.place
    ), created as (
      insert into waybill.execution (id, root_id, run_id, manifest_id, group_id, work_queue_id, state, attempt, occurrence_at, origin,
                                     initiator_type, initiator_id, initiator_name, input, consumed_counts, available_at, started_at, deadline_at,
                                     max_attempts, timeout_seconds, backoff_initial_seconds, backoff_factor, backoff_max_seconds, backoff_jitter,
                                     priority, current_group_index, group_count)
      overriding system value
      select new_id, new_id, coalesce(run_id, new_id), manifest_id, group_id, id, 'in_progress', attempt, occurrence_at, origin,
             initiator_type, initiator_id, initiator_name, admitted_input, admitted_counts, available_at, waybill.now(),
             waybill.now() + make_interval(secs => timeout_seconds), max_attempts, timeout_seconds, backoff_initial_seconds, backoff_factor,
             backoff_max_seconds, backoff_jitter, priority, 0, group_count
        from entry
          on conflict do nothing
      returning id, work_queue_id, attempt
    ), dispatched as (
      update waybill.work_queue w set status = 'dispatched', dispatched_at = waybill.now()
        from created c where w.id = c.work_queue_id
    )
    select id, attempt > 1 as "isResumed" from created order by id`);
}

/** One step per step of the definition. One that is disabled is skipped, for everybody to see. */
async function createSteps(db: Db, planIds: ExecutionId[]): Promise<void> {
  await db.query(sql`
    with step as materialized (
      select s.*, plan.id as execution_id, nextval('waybill.execution_id_seq') as new_id
        from waybill.execution plan join waybill.plan_step s on s.plan_id = plan.manifest_id
       where plan.id = any(${planIds}::bigint[])
       order by plan.id, s.group_index, s.position
    )
    insert into waybill.execution (id, parent_id, root_id, run_id, manifest_id, workflow_name, pool, group_id, state, finished_at, failure_code, failure_message,
                                   occurrence_at, origin, initiator_type, initiator_id, initiator_name, input, max_attempts, timeout_seconds,
                                   backoff_initial_seconds, backoff_factor, backoff_max_seconds, backoff_jitter, priority,
                                   group_index, position, step_name, continue_on_failure)
    overriding system value
    select s.new_id, plan.id, plan.id, s.new_id, plan.manifest_id, s.workflow_name, s.pool, s.group_id,
           (case when s.is_enabled then 'waiting' else 'skipped' end)::waybill.execution_state, case when not s.is_enabled then waybill.now() end,
           case when not s.is_enabled then 'step_disabled' end, case when not s.is_enabled then 'the step is disabled' end,
           plan.occurrence_at, 'plan', plan.initiator_type, plan.initiator_id, plan.initiator_name, s.input, s.max_attempts, s.timeout_seconds,
           plan.backoff_initial_seconds, plan.backoff_factor, plan.backoff_max_seconds, plan.backoff_jitter, plan.priority,
           s.group_index, s.position, s.name, s.continue_on_failure
      from step s join waybill.execution plan on plan.id = s.execution_id`);
}
