import type { Db } from '../../db/database.ts';
import { type Sql, sql } from '../../db/sql.ts';
import type { ExecutionId } from '../../model/ids.ts';
import type { RestingPlan } from '../../model/plan.ts';

const isInQueue = (step: Sql) =>
  sql`exists (select from waybill.work_queue w where w.execution_id = ${step}.id and w.status = 'queued' offset 0)`;

/** Whether nothing of the present group of the plan `plan` is queued, pending or in progress: then nobody will come who would look after it. */
export const isResting: Sql = sql`not exists (
  select from waybill.execution step
   where step.parent_id = plan.id and step.group_index = plan.current_group_index and step.finished_at is null
     and (step.state <> 'waiting' or ${isInQueue(sql`step`)}) offset 0)`;

/**
 * Locked plans in which nothing moves, with their groups. A plan that is missing from the answer has a step that somebody will end, or has ended itself. While a wide group runs, this
 * reads no further than the first step that moves.
 */
export function readRestingPlans(db: Db, planIds: ExecutionId[]): Promise<(RestingPlan & { id: ExecutionId })[]> {
  return db.query(sql`
    with resting as materialized (
      select plan.id, plan.cancel_requested_at, plan.failure_code from waybill.execution plan
       where plan.id = any(${planIds}::bigint[]) and plan.group_count is not null and plan.finished_at is null and ${isResting}
    ), step as (
      select distinct on (s.parent_id, s.group_index, s.position) s.*,
             s.state in ('failed', 'cancelled') and not s.continue_on_failure as is_fatal,
             s.state = 'completed_with_warnings' or (s.state in ('failed', 'cancelled') and s.continue_on_failure) as is_warning
        from resting r join waybill.execution s on s.parent_id = r.id and s.group_index is not null
       order by s.parent_id, s.group_index, s.position, s.attempt desc
    ), step_group as (
      select parent_id, group_index, count(*) filter (where finished_at is null) as unfinished_count,
             count(*) filter (where state = 'waiting' and not ${isInQueue(sql`step`)}) as unreleased_count,
             count(*) filter (where is_fatal) as fatal_count, count(*) filter (where is_warning) as warned_count,
             (array_agg(json_build_object('name', step_name, 'state', state, 'message', failure_message) order by finished_at, position)
               filter (where is_fatal))[1] as fatal
        from step group by parent_id, group_index
    )
    select r.id, r.cancel_requested_at is not null as "isStopRequested", r.failure_code is not null as "isStopFailure",
           coalesce(json_agg(json_build_object('index', g.group_index, 'unfinishedCount', g.unfinished_count, 'unreleasedCount', g.unreleased_count,
             'fatal', g.fatal, 'fatalCount', g.fatal_count, 'warnedCount', g.warned_count) order by g.group_index) filter (where g.parent_id is not null), '[]') as groups
      from resting r left join step_group g on g.parent_id = r.id
     group by r.id, r.cancel_requested_at, r.failure_code
     order by r.id`);
}
