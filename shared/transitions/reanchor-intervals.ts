import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { ManifestId } from '../model/ids.ts';

/** An interval that is anchored at completion counts from the end of its run, or from here if the run will not be: its entry was cancelled or never came about. */
export async function reanchorIntervals(db: Db, manifestIds: ManifestId[]): Promise<void> {
  await db.query(sql`
    update waybill.manifest set next_occurrence_at = waybill.now() + make_interval(secs => interval_seconds)
     where id = any(${manifestIds}::bigint[]) and schedule_type = 'interval' and anchor = 'completion'`);
}
