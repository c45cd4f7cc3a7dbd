import type { Db } from '../db/database.ts';
import { takesSlot } from '../db/queries/takes-slot.ts';
import { sql } from '../db/sql.ts';
import type { GroupSlots } from './count-group-slots.ts';

/**
 * Groups with queued work, as many as `most`, in the order of their ids. The queue's index tells, one probe per group, however many are registered and however much
 * is queued in each.
 */
export async function walkGroups(db: Db, most: number): Promise<number[]> {
  const rows = await db.query<{ id: number }>(sql`
    with recursive queued (id) as (
      select min(w.group_id) from waybill.work_queue w where w.status = 'queued' and w.group_id > 0
      union all
      select (select min(w.group_id) from waybill.work_queue w where w.status = 'queued' and w.group_id > q.id)
        from queued q where q.id is not null
    )
    select id from queued where id is not null limit ${most}`);
  return rows.map(({ id }) => id);
}

/**
 * Which of the groups have available work and a free slot, as they are without a lock. A full or a disabled group costs the count of its live executions and nothing
 * of its backlog.
 */
export function findOpenGroups(db: Db, groupIds: number[]): Promise<GroupSlots[]> {
  return db.query<GroupSlots>(sql`
    select g.id, g.priority, g.max_active_jobs - live.count as free
      from waybill.manifest_group g
      left join lateral (
        select count(*) from waybill.execution e where g.max_active_jobs is not null and e.group_id = g.id and ${takesSlot}
      ) live on true
     where g.id = any(${groupIds}::bigint[]) and g.is_enabled and (g.max_active_jobs is null or g.max_active_jobs > live.count)
       and exists (
         select from (
           select w.available_at from waybill.work_queue w
            where w.group_id = g.id and w.status = 'queued' and w.rank_at <= (select waybill.now())
            order by w.rank_at, w.id offset 0
         ) w where w.available_at <= (select waybill.now()) offset 0)
     order by g.id`);
}
