import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import { ConflictError, NotFoundError } from '../errors.ts';
import type { ManifestId, WorkQueueId } from '../model/ids.ts';
import { cancelEntries } from '../transitions/cancel-entries.ts';
import { consumeSuccesses } from '../transitions/consume-successes.ts';
import { markDue } from '../transitions/mark-due.ts';
import { reanchorIntervals } from '../transitions/reanchor-intervals.ts';
import type { OperationContext } from './context.ts';
import { lockManifestsById } from './lock-manifest.ts';
import { isId } from './paging.ts';
import { recordAudit } from './record-audit.ts';

/**
 * Takes an entry out of the queue. It counts as a cancelled run: its occurrence is gone, a dependent has consumed the successes it was queued for, and a manifest
 * whose retry is cancelled begins to count anew.
 */
export async function cancelEntry({ database, doorbell, initiator }: OperationContext, entryId: string): Promise<void> {
  await database.transaction(async (db) => {
    const found = isId(entryId) ? await lockEntry(db, entryId) : undefined;
    if (!found) throw new NotFoundError('entry_not_found', `queue entry '${entryId}' does not exist: GET /v1/queue lists those that wait`);
    if (found.executionId !== null)
      throw new ConflictError('belongs_to_execution', `queue entry '${entryId}' resumes execution '${found.executionId}': cancel that one`);
    const [cancelled] = await cancelEntries(db, { ids: [found.id] }, `cancelled by ${initiator.name ?? initiator.id ?? initiator.type}`);
    if (!cancelled) throw new ConflictError('not_queued', `queue entry '${entryId}' is no longer queued: cancel its execution instead`);
    const { manifestId } = found;
    if (manifestId !== null) {
      await consumeSuccesses(db, [cancelled]);
      if (found.isRetry) await db.query(sql`update waybill.manifest set failed_count = 0 where id = ${manifestId} and failed_count > 0`);
      await reanchorIntervals(db, [manifestId], { onlyResting: true });
      await markDue(db, [manifestId]);
    }
    await recordAudit(db, initiator, { action: 'queue.cancel', targetType: 'work_queue', target: entryId });
  });
  await Promise.all([doorbell.pokeDispatcher(), doorbell.pokeManager()]);
}

interface LockedEntry {
  id: WorkQueueId;
  manifestId: ManifestId | null;
  executionId: number | null;
  isRetry: boolean;
}

/**
 * Takes hold of the entry, after its manifest, which never changes. All else is read under the lock: until then it may be admitted, put to sleep by its run, and so
 * come to belong to an execution. Undefined means that there is no such entry.
 */
async function lockEntry(db: Db, entryId: string): Promise<LockedEntry | undefined> {
  const [named] = await db.query<Pick<LockedEntry, 'manifestId'>>(
    sql`select manifest_id as "manifestId" from waybill.work_queue where id = ${entryId}::bigint`,
  );
  if (!named) return undefined;
  await lockManifestsById(db, [named.manifestId]);
  const [entry] = await db.query<LockedEntry>(sql`
    select id, manifest_id as "manifestId", execution_id as "executionId", lane = 'retry' as "isRetry"
      from waybill.work_queue where id = ${entryId}::bigint for no key update`);
  return entry;
}
