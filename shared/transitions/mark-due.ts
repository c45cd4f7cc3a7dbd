import type { Db } from '../db/database.ts';
import { type Sql, sql } from '../db/sql.ts';
import type { ManifestId } from '../model/ids.ts';

/** What `next_due_at` becomes, by what the row `m` says of itself: evaluated anew if the update had to wait for somebody, which a subquery would not be. */
export const dueAt = (nextOccurrenceAt: Sql) => sql`case
  when not m.is_enabled or m.deleted_at is not null or m.retiring_at is not null or m.quarantine_error is not null then null
  when m.schedule_type in ('cron', 'interval', 'once')
    then ${nextOccurrenceAt} + waybill.jitter(m.id, ${nextOccurrenceAt}, m.jitter_seconds)
  when m.schedule_type = 'dependent' then waybill.now()
end`;

/**
 * Says "look at me" for manifests whose hold may have ended: their run ended, their entry was cancelled, their dead letter was resolved, they, their parent
 * or their group were enabled, an edge or the mode changed. The one place that decides what `next_due_at` becomes. The rows must be locked by
 * the caller, so that nobody who looks at one right now holds it again for what was true before.
 * Gives the manifests that became due because of it; an unchanged row is not written.
 */
export async function markDue(db: Db, manifestIds: ManifestId[]): Promise<ManifestId[]> {
  if (!manifestIds.length) return [];
  const marked = await db.query<{ id: ManifestId; isDue: boolean }>(sql`
    update waybill.manifest m set next_due_at = ${dueAt(sql`m.next_occurrence_at`)}
     where m.id = any(${manifestIds}::bigint[]) and m.next_due_at is distinct from ${dueAt(sql`m.next_occurrence_at`)}
    returning m.id, m.next_due_at is not null as "isDue"`);
  return marked.filter(({ isDue }) => isDue).map(({ id }) => id);
}
