import { LONGEST_TRANSACTION_SECONDS } from '../begin.ts';
import { sql } from '../sql.ts';
import type { Invariant } from './invariant.ts';

/**
 * The same for the whole: too many are live, and the last of them was admitted under the present limit. The row comes with the schema and so
 * may be younger than a virtual clock; then nobody has changed it in the time that is looked at. Reads the index of live executions.
 */
export const globalCapacityIsRespected: Invariant = {
  name: 'all_groups_together_hold_no_more_slots_than_the_capacity',
  kind: 'always',
  statement: sql`
    with live as (
      select count(*) as taken, max(coalesce(w.dispatched_at, e.created_at)) as last_admitted_at
        from waybill.execution e left join waybill.work_queue w on w.id = e.work_queue_id
       where e.state in ('pending', 'in_progress') and e.work_queue_id is not null and e.group_count is null and e.group_id is not null
    )
    select 'capacity' as subject,
           format('%s of %s slots are taken, the last one at %s', live.taken, c.max_active_jobs, live.last_admitted_at) as detail
      from waybill.capacity c cross join live
     where live.taken > c.max_active_jobs
       and (c.updated_at > waybill.now() or live.last_admitted_at > c.updated_at + make_interval(secs => ${LONGEST_TRANSACTION_SECONDS}))
     limit 100`,
};
