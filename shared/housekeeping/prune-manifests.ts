import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { ManifestId } from '../model/ids.ts';
import { tryLockGraph } from '../transitions/refuse-cycles.ts';
import { type PastCursor, type PruneBatch, type Pruned, pastRetention } from './past-retention.ts';

/**
 * Removes manifests that were deleted before the retention and that nothing names any more: no execution, no entry, no dead letter, and no dependent that still waits for them. What hangs on
 * them goes along: edges, steps, backfills. Nothing new comes to name one that is deleted, so one that is held by nobody now can be judged by what is there.
 *
 * To be called when entries were pruned: an entry is not found by its manifest, but of those that are older than the retention, as all entries of such a manifest are, few are left then.
 */
export async function pruneManifests(db: Db, { retentionDays, limit, after }: PruneBatch): Promise<Pruned> {
  if (!(await tryLockGraph(db))) return { count: 0 };
  const { cutoff, isSettled, isBehind } = pastRetention(retentionDays, sql`m.deleted_at`, sql`m.id`, after);
  const deleted = await db.query<PastCursor>(sql`
    select m.id, m.deleted_at::text as at from waybill.manifest m
     where m.deleted_at is not null and ${isSettled} and ${isBehind}
     order by m.deleted_at, m.id limit ${limit} for update skip locked`);
  if (!deleted.length) return { count: 0 };
  const removed = await db.query<{ id: ManifestId }>(sql`
    delete from waybill.manifest m
     where m.id = any(${deleted.map(({ id }) => id)}::bigint[])
       and not exists (select from waybill.execution e where e.manifest_id = m.id and e.manifest_id is not null)
       and not exists (select from waybill.dead_letter d where d.manifest_id = m.id)
       and not exists (select from waybill.work_queue w where w.manifest_id = m.id and w.manifest_id is not null and w.status = 'queued')
       and not exists (select from waybill.work_queue w where w.manifest_id = m.id and w.status <> 'queued' and w.created_at < ${cutoff})
       and not exists (select from waybill.manifest_dependency d join waybill.manifest c on c.id = d.child_id
                        where d.parent_id = m.id and c.deleted_at is null)
    returning m.id`);
  return { count: removed.length, next: deleted.length < limit ? undefined : deleted.at(-1) };
}
