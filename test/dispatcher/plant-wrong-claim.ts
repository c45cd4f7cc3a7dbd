import type { Database } from '../../shared/db/database.ts';
import { sql } from '../../shared/db/sql.ts';

const liveOfGroup = sql`(
  select count(*) from waybill.execution e
   where e.group_id = g.id and e.state in ('pending', 'in_progress') and e.work_queue_id is not null and e.group_count is null)`;

/** Counts the slots in the statement that locks entries, and passes over what others hold: each claim finds other entries for the same slots. */
export function countWhilePassingOverLocks(database: Database): Promise<void> {
  return database.transaction(async (db) => {
    const entries = await db.query<{ id: number }>(sql`
      select w.id from waybill.manifest_group g
       cross join lateral (
         select w.id from waybill.work_queue w where w.group_id = g.id and w.status = 'queued'
          order by w.rank_at, w.id limit greatest(g.max_active_jobs - ${liveOfGroup}, 0) for no key update skip locked
       ) w`);
    await admit(
      db,
      entries.map(({ id }) => id),
    );
  });
}

/** Locks the group but counts in the same statement: whoever had to wait for the lock knows the count from before it. */
export function countWhileLocking(database: Database): Promise<void> {
  return database.transaction(async (db) => {
    const [group] = await db.query<{ id: number; free: number }>(sql`
      select g.id, g.max_active_jobs - ${liveOfGroup} as free from waybill.manifest_group g for no key update`);
    const entries = await db.query<{ id: number }>(sql`
      select w.id from waybill.work_queue w where w.group_id = ${group!.id} and w.status = 'queued'
       order by w.rank_at, w.id limit ${Math.max(group!.free, 0)} for no key update skip locked`);
    await admit(
      db,
      entries.map(({ id }) => id),
    );
  });
}

async function admit(db: Pick<Database, 'query'>, entryIds: number[]): Promise<void> {
  await db.query(sql`
    with admitted as (
      insert into waybill.execution (root_id, run_id, workflow_name, pool, group_id, work_queue_id, origin, initiator_type)
      select w.id, w.id, w.workflow_name, 'default', w.group_id, w.id, w.origin, w.initiator_type from waybill.work_queue w where w.id = any(${entryIds}::bigint[])
      returning work_queue_id
    )
    update waybill.work_queue w set status = 'dispatched', dispatched_at = waybill.now() from admitted a where w.id = a.work_queue_id`);
}
