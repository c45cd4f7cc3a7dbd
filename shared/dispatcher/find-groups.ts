import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { GroupSlots } from './count-group-slots.ts';

/**
 * Groups that have available work and a free slot, as they are without a lock. The queue's index tells which groups have work, one probe per group, however
 * many are registered and however much is queued in each. A full or a disabled group costs the count of its live executions and nothing of its backlog.
 */
export function findGroups(db: Db): Promise<GroupSlots[]> {
  return db.query<GroupSlots>(sql`
    with recursive queued (id) as (
      select min(w.group_id) from waybill.work_queue w where w.status = 'queued' and w.group_id > 0
      union all
      select (select min(w.group_id) from waybill.work_queue w where w.status = 'queued' and w.group_id > q.id)
        from queued q where q.id is not null
    )
    select g.id, g.priority, g.max_active_jobs - live.count as free
      from queued q
      join waybill.manifest_group g on g.id = q.id and g.is_enabled
      left join lateral (
        select count(*) from waybill.execution e
         where g.max_active_jobs is not null and e.group_id = g.id and e.state in ('pending', 'in_progress')
           and e.work_queue_id is not null and e.group_count is null
      ) live on true
     where (g.max_active_jobs is null or g.max_active_jobs > live.count)
       and exists (
         select from (
           select w.available_at from waybill.work_queue w
            where w.group_id = g.id and w.status = 'queued' and w.rank_at <= (select waybill.now())
            order by w.rank_at, w.id offset 0
         ) w where w.available_at <= (select waybill.now()) offset 0)
     order by g.id`);
}
