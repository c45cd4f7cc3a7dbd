import { sql } from '../sql.ts';
import type { Invariant } from './invariant.ts';

/**
 * A plan ends after all of its steps, and one that it has not come to is not in the queue: the transaction that ends or advances a plan writes both. A step that was left behind would run for a plan
 * that has long been judged without it. Reads what is unfinished, and probes the plans and the entries.
 */
export const stepsEndWithTheirPlan: Invariant = {
  name: 'a_step_is_queued_only_in_the_present_group_of_a_plan_that_runs',
  kind: 'always',
  statement: sql`
    with step as materialized (
      select id, parent_id, group_index, step_name, state from waybill.execution
       where state in ('waiting', 'pending', 'in_progress') and parent_id is not null and group_index is not null
    )
    select 'execution ' || s.id as subject,
           format('step %s of group %s is %s, but its plan in execution %s is %s', s.step_name, s.group_index, s.state, s.parent_id,
                  case when p.id is null then 'missing' when p.finished_at is not null then p.state::text else 'at group ' || p.current_group_index end) as detail
      from step s left join waybill.execution p on p.id = s.parent_id
     where p.id is null or p.finished_at is not null
        or (s.group_index > p.current_group_index
            and (s.state <> 'waiting' or exists (select from waybill.work_queue w where w.execution_id = s.id and w.status = 'queued')))
     order by s.id limit 100`,
};
