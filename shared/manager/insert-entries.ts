import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { ManifestId } from '../model/ids.ts';
import { DEPENDENT_PRIORITY_BOOST } from '../model/priority.ts';
import type { QueueDecision } from './determine-jobs-to-queue.ts';

/**
 * Queues one entry per occurrence, as one set, and gives the manifest of each. An entry that is missing from the answer met a unique index. None is available before its
 * occurrence plus its jitter, also when it is queued with others that were missed.
 */
export async function insertEntries(db: Db, decisions: QueueDecision[]): Promise<ManifestId[]> {
  const rows = decisions.flatMap(({ manifestId, lane, occurrences, consumedCounts }) =>
    occurrences.map((occurrenceAt) => ({ manifestId, lane, occurrenceAt, consumedCounts: JSON.stringify(consumedCounts) })),
  );
  const inserted = await db.query<{ id: ManifestId }>(sql`
    insert into waybill.work_queue (workflow_name, input, pool, manifest_id, group_id, priority, lane, origin, occurrence_at, available_at, max_attempts,
                                    timeout_seconds, backoff_initial_seconds, backoff_factor, backoff_max_seconds, backoff_jitter,
                                    consumed_counts, initiator_type, initiator_id, initiator_name)
    select m.workflow_name, m.input, m.pool, m.id, m.group_id,
           m.priority + case when m.schedule_type = 'dependent' then ${DEPENDENT_PRIORITY_BOOST}::int else 0 end,
           d.lane, (case when m.schedule_type = 'dependent' then 'dependency' else 'schedule' end)::waybill.work_origin, d.occurrence_at,
           greatest(waybill.now(), d.occurrence_at + waybill.jitter(m.id, d.occurrence_at, m.jitter_seconds)),
           m.max_attempts, m.timeout_seconds, m.backoff_initial_seconds, m.backoff_factor, m.backoff_max_seconds, m.backoff_jitter,
           d.consumed_counts, (case when m.schedule_type = 'dependent' then 'dependency' else 'schedule' end)::waybill.initiator_type, m.id::text,
           m.external_id
      from unnest(${rows.map((row) => row.manifestId)}::bigint[], ${rows.map((row) => row.lane)}::waybill.work_queue_lane[],
                  ${rows.map((row) => row.occurrenceAt)}::timestamptz[], ${rows.map((row) => row.consumedCounts)}::jsonb[])
           d (manifest_id, lane, occurrence_at, consumed_counts)
      join waybill.manifest m on m.id = d.manifest_id
     order by m.id, d.occurrence_at
        on conflict do nothing
    returning manifest_id as id`);
  return inserted.map(({ id }) => id);
}
