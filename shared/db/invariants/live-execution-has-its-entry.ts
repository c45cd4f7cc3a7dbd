import { sql } from '../sql.ts';
import type { Invariant } from './invariant.ts';

/**
 * The other direction: what is pending or running was admitted through an entry, which is dispatched; what sleeps, or waits for its first turn, has an
 * entry queued. Only nested executions, which run under their parent's, and steps that are not released yet have none. Reads what is unfinished and
 * probes entries.
 */
export const liveExecutionHasItsEntry: Invariant = {
  name: 'an_unfinished_execution_has_its_entry_in_the_matching_status',
  kind: 'always',
  statement: sql`
    with unfinished as materialized (
      select id, state, work_queue_id from waybill.execution
       where state in ('waiting', 'pending', 'in_progress')
         and (work_queue_id is not null or parent_id is null or (group_index is not null and state <> 'waiting'))
    )
    select 'execution ' || e.id as subject, format('%s, but its entry %s is %s', e.state, coalesce(e.work_queue_id::text, 'of no number'), coalesce(w.status::text, 'missing')) as detail
      from unfinished e left join waybill.work_queue w on w.id = e.work_queue_id
     where case when e.state <> 'waiting' then w.status is distinct from 'dispatched'
                else not exists (select from waybill.work_queue q where q.execution_id = e.id and q.status = 'queued') end
     order by e.id limit 100`,
};
