import type { Db } from '../db/database.ts';
import { isRowRefused } from '../db/postgres-errors.ts';
import { sql } from '../db/sql.ts';
import { messageOf } from '../errors.ts';
import type { ManifestId } from '../model/ids.ts';
import { markDue } from '../transitions/mark-due.ts';
import { reanchorIntervals } from '../transitions/reanchor-intervals.ts';
import { advanceSchedules, recordSkips } from './advance-schedules.ts';
import type { CycleContext } from './cycle.ts';
import type { Decision, Quarantine, QueueDecision } from './determine-jobs-to-queue.ts';
import { queueOccurrences } from './queue-occurrences.ts';

/**
 * Writes the decision. The schedule is advanced first, conditionally on what was seen, and only what this moves is queued: of two managers that decided the
 * same, one advances.
 */
export async function createWorkQueueEntries<Round extends { decision: Decision }>(
  round: Round,
  { db }: CycleContext,
): Promise<Round & { queuedCount: number }> {
  const { queue, skipped, postponed, quarantined } = round.decision;
  await advanceSchedules(db, postponed);
  await recordSkips(db, skipped);
  const { written, refused } = await writeOrQuarantine(db, queue);
  await quarantine(db, [...quarantined, ...refused]);
  await recordTaken(
    db,
    written.filter(({ isTaken }) => isTaken).map(({ manifestId }) => manifestId),
  );
  const decision = { ...round.decision, quarantined: [...quarantined, ...refused] };
  return { ...round, decision, queuedCount: written.filter(({ isQueued }) => isQueued).length };
}

interface Written {
  manifestId: ManifestId;
  isQueued: boolean;
  /** At least one of its entries met a unique index. */
  isTaken: boolean;
}

interface Outcome {
  written: Written[];
  refused: Quarantine[];
}

/**
 * One set, whatever its size. If the set raises, it is halved under savepoints until the culprit stands alone: that one is quarantined, the others
 * are queued, and one bad manifest never stops a cycle.
 */
async function writeOrQuarantine(db: Db, rows: QueueDecision[]): Promise<Outcome> {
  if (!rows.length) return { written: [], refused: [] };
  await db.query(sql`savepoint entries`);
  try {
    const written = await write(db, rows);
    await db.query(sql`release savepoint entries`);
    return { written, refused: [] };
  } catch (error) {
    if (!isRowRefused(error)) throw error;
    await db.query(sql`rollback to savepoint entries`);
    const [{ manifestId, seenOccurrenceAt }, ...others] = rows as [QueueDecision];
    if (!others.length) return { written: [], refused: [{ manifestId, seenOccurrenceAt, error: messageOf(error) }] };
    const middle = Math.ceil(rows.length / 2);
    const first = await writeOrQuarantine(db, rows.slice(0, middle));
    const second = await writeOrQuarantine(db, rows.slice(middle));
    return { written: [...first.written, ...second.written], refused: [...first.refused, ...second.refused] };
  }
}

/** One that is missing from the answer was not where the decision saw it any more: another manager was faster. */
async function write(db: Db, rows: QueueDecision[]): Promise<Written[]> {
  const broughtForward = await bringForward(db, rows);
  const decided = rows.map((row) => (broughtForward.has(row.manifestId) ? { ...row, occurrences: [] } : row));
  const wanted = new Map(decided.map(({ manifestId, occurrences }) => [manifestId, occurrences.length]));
  const queued = await queueOccurrences(db, decided);
  return queued.map(({ manifestId, entryCount }) => ({
    manifestId,
    isQueued: entryCount > 0 || broughtForward.has(manifestId),
    isTaken: entryCount < wanted.get(manifestId)!,
  }));
}

/**
 * A delayed trigger without input takes the occurrence that came before it. One that went meanwhile leaves its place to a new entry. Another manager that decided the same
 * brings it forward to the same, so this need not wait for the schedule to be advanced.
 */
async function bringForward(db: Db, queue: QueueDecision[]): Promise<Set<ManifestId>> {
  const rows = queue.filter((row) => row.bringForward !== null);
  if (!rows.length) return new Set();
  const moved = await db.query<{ manifestId: ManifestId }>(sql`
    update waybill.work_queue w
       set available_at = waybill.now(), occurrence_at = coalesce(d.occurrence_at, w.occurrence_at), consumed_counts = d.consumed_counts
      from jsonb_to_recordset(${JSON.stringify(
        rows.map((row) => ({ id: row.bringForward, occurrence_at: row.occurrences[0], consumed_counts: row.consumedCounts })),
      )}::jsonb) d (id bigint, occurrence_at timestamptz, consumed_counts jsonb)
     where w.id = d.id and w.status = 'queued'
    returning w.manifest_id as "manifestId"`);
  return new Set(moved.map(({ manifestId }) => manifestId));
}

/**
 * The backstop spoke: the place or the occurrence already has an entry. The tick is gone, and says so. What is anchored at completion waits for the end of a run
 * that will not be; it counts from here instead.
 */
async function recordTaken(db: Db, ids: ManifestId[]): Promise<void> {
  if (!ids.length) return;
  await db.query(sql`
    update waybill.manifest set last_skip_reason = 'occurrence_taken', last_skip_at = waybill.now(), skip_count = skip_count + 1
     where id = any(${ids}::bigint[])`);
  await reanchorIntervals(db, ids, { onlyResting: true });
  await markDue(db, ids);
}

/** The occurrence that could not be queued stays: a once keeps its instant, and the others what they were due for. */
async function quarantine(db: Db, rows: Quarantine[]): Promise<void> {
  if (!rows.length) return;
  await db.query(sql`
    update waybill.manifest m set quarantine_error = d.error, next_occurrence_at = d.seen_occurrence_at, next_due_at = null,
                                  last_skip_reason = 'quarantined', last_skip_at = waybill.now(), skip_count = m.skip_count + 1
      from unnest(${rows.map((row) => row.manifestId)}::bigint[], ${rows.map((row) => row.seenOccurrenceAt)}::timestamptz[],
                  ${rows.map((row) => row.error)}::text[]) d (manifest_id, seen_occurrence_at, error)
     where m.id = d.manifest_id`);
}
