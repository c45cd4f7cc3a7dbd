import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { ManifestId } from '../model/ids.ts';

/**
 * An interval that is anchored at completion counts from the end of its run. When the run that it rests for will not be, because the entry was cancelled or never
 * came about, `onlyResting` lets it count from here, without moving one that is waiting for its next occurrence.
 */
export async function reanchorIntervals(db: Db, manifestIds: ManifestId[], { onlyResting = false } = {}): Promise<void> {
  if (!manifestIds.length) return;
  await db.query(sql`
    update waybill.manifest set next_occurrence_at = waybill.now() + make_interval(secs => interval_seconds)
     where id = any(${manifestIds}::bigint[]) and schedule_type = 'interval' and anchor = 'completion'
       and (next_due_at is null or not ${onlyResting}::boolean)`);
}
