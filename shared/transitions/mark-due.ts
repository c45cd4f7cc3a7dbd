import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { ManifestId } from '../model/ids.ts';

/**
 * Says "look at me" for manifests whose hold may have ended: their run ended, their entry was cancelled, they or what they
 * wait for were enabled. The one place that decides what `next_due_at` becomes. The rows must be locked by the caller, so
 * that flags and counts read here are those that its own decision is based on.
 */
export async function markDue(db: Db, manifestIds: ManifestId[]): Promise<void> {
  if (!manifestIds.length) return;
  await db.query(sql`
    update waybill.manifest
       set next_due_at = case
             when not is_enabled or deleted_at is not null or retiring_at is not null or quarantine_error is not null then null
             when schedule_type in ('cron', 'interval', 'once') then next_occurrence_at + waybill.jitter(id, next_occurrence_at, jitter_seconds)
             when schedule_type = 'dependent' then waybill.now()
           end
     where id = any(${manifestIds}::bigint[])`);
}
