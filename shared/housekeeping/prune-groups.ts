import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import { tryLockGraph } from '../transitions/refuse-cycles.ts';
import { type PastCursor, type PruneBatch, type Pruned, pastRetention } from './past-retention.ts';

/** Whether anything but history names the group `g`. */
const isInUse = sql`(
  exists (select from waybill.manifest m where m.group_id = g.id)
  or exists (select from waybill.plan_step s where s.group_id = g.id)
  or exists (select from waybill.work_queue w where w.group_id = g.id and w.group_id is not null and w.status = 'queued')
  or g.id in (select e.group_id from waybill.execution e where e.state in ('waiting', 'pending', 'in_progress'))
  or g.id in (select e.group_id from waybill.dead_letter d join waybill.execution e on e.id = d.execution_id where d.status = 'awaiting_intervention'))`;

/**
 * Marks groups that nothing but history names. They are looked for without locks, then held, and judged again: an ad-hoc run holds its group until its entry is there, and whoever declares
 * something holds the graph lock. Killed before the commit, the next hour marks them.
 *
 * Reads every group and every manifest, since none is found by its group: of 100,000 each that takes 0.3 s.
 */
export async function markOrphanGroups(db: Db, limit: number): Promise<number> {
  const found = await db.query<{ id: number }>(sql`
    select g.id from waybill.manifest_group g where g.orphaned_at is null and not ${isInUse} order by g.id limit ${limit}`);
  if (!found.length || !(await tryLockGraph(db))) return 0;
  const held = await db.query<{ id: number }>(sql`
    select g.id from waybill.manifest_group g where g.id = any(${found.map(({ id }) => id)}::bigint[]) order by g.id for update skip locked`);
  const marked = await db.query(sql`
    update waybill.manifest_group g set orphaned_at = waybill.now()
     where g.id = any(${held.map(({ id }) => id)}::bigint[]) and g.orphaned_at is null and not ${isInUse}
    returning g.id`);
  return marked.length;
}

/**
 * Removes groups that have been orphans for longer than the retention, unless history that had to stay names them.
 *
 * To be called when runs and entries were pruned: what is left of that age is little. Postgres makes sure by itself that no manifest names a group that goes, and reads all of them for each: 50 ms a
 * group where there are 100,000. An index would cost every tick of every manifest, so a batch should be small, and a pass should not have many.
 */
export async function pruneGroups(db: Db, { retentionDays, limit, after }: PruneBatch): Promise<Pruned> {
  if (!(await tryLockGraph(db))) return { count: 0 };
  const { cutoff, isSettled, isBehind } = pastRetention(retentionDays, sql`g.orphaned_at`, sql`g.id`, after);
  const orphans = await db.query<PastCursor>(sql`
    select g.id, g.orphaned_at::text as at from waybill.manifest_group g
     where g.orphaned_at is not null and ${isSettled} and ${isBehind}
     order by g.orphaned_at, g.id limit ${limit} for update skip locked`);
  if (!orphans.length) return { count: 0 };
  const ids = orphans.map(({ id }) => id);
  // Whoever used it has taken the mark away; if not, its time begins anew when it is out of use.
  await db.query(sql`update waybill.manifest_group g set orphaned_at = null where g.id = any(${ids}::bigint[]) and ${isInUse}`);
  const removed = await db.query(sql`
    delete from waybill.manifest_group g
     where g.id = any(${ids}::bigint[]) and g.orphaned_at is not null
       and g.id not in (select e.group_id from waybill.execution e where e.finished_at < ${cutoff})
       and g.id not in (select w.group_id from waybill.work_queue w where w.status <> 'queued' and w.created_at < ${cutoff})
    returning g.id`);
  return { count: removed.length, next: orphans.length < limit ? undefined : orphans.at(-1) };
}
