import { arrayOf } from '../db/array-of.ts';
import type { Db } from '../db/database.ts';
import { type Sql, sql } from '../db/sql.ts';
import type { Advance, SkipDecision } from './determine-jobs-to-queue.ts';

/** Moves schedules on that were looked at too early. */
export async function advanceSchedules(db: Db, rows: Advance[]): Promise<void> {
  if (!rows.length) return;
  await db.query(sql`
    update waybill.manifest m set next_occurrence_at = d.next_occurrence_at, next_due_at = ${nextDueAt} from ${recordset(rows)} where ${isUnmoved(rows)}`);
}

/** Skips advance in the same way, and say why. */
export async function recordSkips(db: Db, rows: SkipDecision[]): Promise<void> {
  if (!rows.length) return;
  await db.query(sql`
    update waybill.manifest m
       set next_occurrence_at = d.next_occurrence_at, next_due_at = ${nextDueAt},
           last_skip_reason = s.reason, last_skip_at = waybill.now(), skip_count = m.skip_count + 1
      from ${recordset(rows)}
      join unnest(${arrayOf(rows.map((row) => row.manifestId))}::bigint[], ${rows.map((row) => row.reason)}::waybill.skip_reason[]) s (manifest_id, reason) using (manifest_id)
     where ${isUnmoved(rows)}`);
}

export const nextDueAt = sql`case when not d.is_held then d.next_occurrence_at + waybill.jitter(m.id, d.next_occurrence_at, m.jitter_seconds) end`;

/**
 * Still where the decision saw it: a timed one by its occurrence, a dependent by the instant at which it was marked. The ids are said once more as a list, of which the planner knows the
 * length: joined with the decisions alone, it would rather read every manifest, up to some tens of thousands.
 */
export function isUnmoved(rows: Advance[]): Sql {
  return sql`m.id = any(${arrayOf(rows.map((row) => row.manifestId))}::bigint[]) and m.id = d.manifest_id
         and case when m.schedule_type = 'dependent' then m.next_due_at = d.seen_due_at else m.next_occurrence_at is not distinct from d.seen_occurrence_at end`;
}

/** The decisions as a relation `d`. Only dependents are compared by the instant at which they were marked, so only they carry it. */
export function recordset(rows: Advance[]): Sql {
  return sql`unnest(${arrayOf(rows.map((row) => row.manifestId))}::bigint[], ${arrayOf(rows.map((row) => row.seenOccurrenceAt))}::timestamptz[],
                    ${arrayOf(rows.map((row) => (row.seenOccurrenceAt ? null : row.seenDueAt)))}::timestamptz[],
                    ${arrayOf(rows.map((row) => row.nextOccurrenceAt))}::timestamptz[], ${arrayOf(rows.map((row) => row.isHeld))}::boolean[])
             d (manifest_id, seen_occurrence_at, seen_due_at, next_occurrence_at, is_held)`;
}
