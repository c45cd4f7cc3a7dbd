import { LONGEST_TRANSACTION_SECONDS } from '../begin.ts';
import { sql } from '../sql.ts';
import type { Invariant } from './invariant.ts';

/**
 * Slots are taken by pending and running executions that have an entry and are not plans. Lowering a limit below what is live is legitimate, and
 * nothing is cancelled for it; so an overfull group counts only if its last slot was given away under the present limit: since the group was
 * last changed, or at any time if it never was. A switch or a priority that was changed meanwhile hides a breach for as long as its runs last.
 * Reads the index of live executions and their entries, then the groups that have any.
 */
export const groupCapacityIsRespected: Invariant = {
  name: 'a_group_holds_no_more_slots_than_its_capacity',
  kind: 'always',
  statement: sql`
    with live as (
      select e.group_id, count(*) as taken, max(coalesce(w.dispatched_at, e.created_at)) as last_admitted_at
        from waybill.execution e left join waybill.work_queue w on w.id = e.work_queue_id
       where e.state in ('pending', 'in_progress') and e.work_queue_id is not null and e.group_count is null and e.group_id is not null
       group by e.group_id
    )
    select 'group ' || g.name as subject,
           format('%s of %s slots are taken, the last one at %s', live.taken, g.max_active_jobs, live.last_admitted_at) as detail
      from live join waybill.manifest_group g on g.id = live.group_id
     where live.taken > g.max_active_jobs
       and (g.updated_at = g.created_at or live.last_admitted_at > g.updated_at + make_interval(secs => ${LONGEST_TRANSACTION_SECONDS}))
     order by g.id limit 100`,
};
