import type { Db } from '../../shared/db/database.ts';
import { sql } from '../../shared/db/sql.ts';

/** Ended plans whose outcome is not what their steps say, step by step and by the last attempt of each, or that left a later group running. */
export function findMisjudged(db: Db): Promise<{ id: number; state: string; expected: string }[]> {
  return db.query(sql`
    with last as (
      select distinct on (parent_id, group_index, position) parent_id, state, continue_on_failure from waybill.execution
       where group_index is not null order by parent_id, group_index, position, attempt desc
    ), judged as (
      select p.id, p.state, p.failure_code,
             case when p.failure_code = 'timeout' then 'failed' when p.cancel_requested_at is not null then 'cancelled'
                  when bool_or(l.state in ('failed', 'cancelled') and not l.continue_on_failure) then 'failed'
                  when bool_or(l.state in ('failed', 'cancelled', 'completed_with_warnings')) then 'completed_with_warnings'
                  else 'completed' end as expected
        from waybill.execution p left join last l on l.parent_id = p.id
       where p.group_count is not null and p.finished_at is not null group by p.id
    )
    select id, state, expected from judged where state::text <> expected order by id`);
}

/** Steps that began before everything of the groups before them was over; what was taken over from an earlier execution did not run in this one. */
export function findEarly(db: Db): Promise<{ id: number }[]> {
  return db.query(sql`
    select c.id from waybill.execution c join waybill.execution b on b.parent_id = c.parent_id and b.group_index < c.group_index
     where c.group_index is not null and c.started_at is not null and c.work_queue_id is not null and (b.finished_at > c.started_at or b.state = 'waiting')`);
}
