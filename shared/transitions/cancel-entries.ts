import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { ManifestId, WorkQueueId } from '../model/ids.ts';
import type { CarriedCounts } from './consume-successes.ts';

export interface CancelledEntry extends CarriedCounts {
  id: WorkQueueId;
}

export type EntriesToCancel = { ids: WorkQueueId[] } | { manifestIds: ManifestId[]; lane?: 'retry' };

/** Takes entries out of the queue, with the reason that people will read. An entry that is missing from the answer was no longer queued. */
export function cancelEntries(db: Db, entries: EntriesToCancel, reason: string): Promise<CancelledEntry[]> {
  const which =
    'ids' in entries
      ? sql`id = any(${entries.ids}::bigint[])`
      : sql`manifest_id = any(${entries.manifestIds}::bigint[]) and execution_id is null and (${entries.lane ?? null}::waybill.work_queue_lane is null or lane = ${entries.lane ?? null})`;
  return db.query<CancelledEntry>(sql`
    with held as (
      select id from waybill.work_queue where status = 'queued' and ${which} order by id for no key update
    )
    update waybill.work_queue w set status = 'cancelled', cancelled_at = waybill.now(), cancel_reason = ${reason}
      from held where w.id = held.id and w.status = 'queued'
    returning w.id, w.manifest_id as "manifestId", w.consumed_counts as counts`);
}
