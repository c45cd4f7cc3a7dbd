import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { ManifestId } from '../model/ids.ts';
import type { CycleContext } from './cycle.ts';
import type { Decision } from './determine-jobs-to-queue.ts';

/**
 * Writes the decision. The occurrence is advanced first, conditionally on the value that was seen, and only what this
 * returns is queued: of two managers that decided the same, one advances.
 */
export async function createWorkQueueEntries<Round extends { decision: Decision }>(
  round: Round,
  { db }: CycleContext,
): Promise<Round & { queuedCount: number }> {
  const { queue, skipped, postponed, quarantined } = round.decision;
  await advance(db, postponed);
  await recordSkips(db, skipped);
  await quarantine(db, quarantined);
  const advanced = await advance(db, queue);
  const occurrences = new Map(queue.map(({ manifestId, seenOccurrenceAt }) => [manifestId, seenOccurrenceAt]));
  const queued = await insertEntries(
    db,
    advanced.map((id) => ({ id, occurrenceAt: occurrences.get(id) ?? null })),
  );
  const taken = advanced.filter((id) => !queued.includes(id));
  await recordTaken(db, taken);
  return { ...round, queuedCount: queued.length };
}

/** Gives the manifests that were still where the decision saw them. */
async function advance(db: Db, rows: Decision['queue']): Promise<ManifestId[]> {
  if (!rows.length) return [];
  const advanced = await db.query<{ id: ManifestId }>(sql`
    update waybill.manifest m
       set next_occurrence_at = d.next_occurrence_at,
           next_due_at = d.next_occurrence_at + waybill.jitter(m.id, d.next_occurrence_at, m.jitter_seconds)
      from unnest(${rows.map((row) => row.manifestId)}::bigint[], ${rows.map((row) => row.seenOccurrenceAt)}::timestamptz[],
                  ${rows.map((row) => row.nextOccurrenceAt)}::timestamptz[]) d (manifest_id, seen_occurrence_at, next_occurrence_at)
     where m.id = d.manifest_id and m.next_occurrence_at is not distinct from d.seen_occurrence_at
    returning m.id`);
  return advanced.map(({ id }) => id);
}

async function recordSkips(db: Db, rows: Decision['skipped']): Promise<void> {
  if (!rows.length) return;
  await db.query(sql`
    update waybill.manifest m
       set next_occurrence_at = d.next_occurrence_at,
           next_due_at = case when not d.is_held then d.next_occurrence_at + waybill.jitter(m.id, d.next_occurrence_at, m.jitter_seconds) end,
           last_skip_reason = d.reason, last_skip_at = waybill.now(), skip_count = m.skip_count + 1
      from unnest(${rows.map((row) => row.manifestId)}::bigint[], ${rows.map((row) => row.seenOccurrenceAt)}::timestamptz[],
                  ${rows.map((row) => row.nextOccurrenceAt)}::timestamptz[], ${rows.map((row) => row.isHeld)}::boolean[],
                  ${rows.map((row) => row.reason)}::waybill.skip_reason[])
           d (manifest_id, seen_occurrence_at, next_occurrence_at, is_held, reason)
     where m.id = d.manifest_id and m.next_occurrence_at is not distinct from d.seen_occurrence_at`);
}

/** The backstop spoke: the place or the occurrence already has an entry. The tick is gone, and says so. */
async function recordTaken(db: Db, ids: ManifestId[]): Promise<void> {
  if (!ids.length) return;
  await db.query(sql`
    update waybill.manifest set last_skip_reason = 'occurrence_taken', last_skip_at = waybill.now(), skip_count = skip_count + 1
     where id = any(${ids}::bigint[])`);
}

async function quarantine(db: Db, rows: Decision['quarantined']): Promise<void> {
  if (!rows.length) return;
  await db.query(sql`
    update waybill.manifest m set quarantine_error = d.error, next_due_at = null
      from unnest(${rows.map((row) => row.manifestId)}::bigint[], ${rows.map((row) => row.error)}::text[]) d (manifest_id, error)
     where m.id = d.manifest_id`);
}

/** One set, whatever its size. A row that is missing from the answer met a unique index. */
async function insertEntries(db: Db, rows: { id: ManifestId; occurrenceAt: Date | null }[]): Promise<ManifestId[]> {
  if (!rows.length) return [];
  const inserted = await db.query<{ id: ManifestId }>(sql`
    insert into waybill.work_queue (workflow_name, input, pool, manifest_id, group_id, priority, lane, origin, occurrence_at, max_attempts,
                                    timeout_seconds, backoff_initial_seconds, backoff_factor, backoff_max_seconds, backoff_jitter,
                                    initiator_type, initiator_id, initiator_name)
    select m.workflow_name, m.input, m.pool, m.id, m.group_id, m.priority, 'fresh', 'schedule', d.occurrence_at, m.max_attempts,
           m.timeout_seconds, m.backoff_initial_seconds, m.backoff_factor, m.backoff_max_seconds, m.backoff_jitter,
           'schedule', m.id::text, m.external_id
      from unnest(${rows.map(({ id }) => id)}::bigint[], ${rows.map(({ occurrenceAt }) => occurrenceAt)}::timestamptz[]) d (manifest_id, occurrence_at)
      join waybill.manifest m on m.id = d.manifest_id
     order by m.id
        on conflict do nothing
    returning manifest_id as id`);
  return inserted.map(({ id }) => id);
}
