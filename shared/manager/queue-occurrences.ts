import { arrayOf } from '../db/array-of.ts';
import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { ManifestId } from '../model/ids.ts';
import { DEPENDENT_PRIORITY_BOOST } from '../model/priority.ts';
import { isUnmoved, nextDueAt, recordset } from './advance-schedules.ts';
import type { QueueDecision } from './determine-jobs-to-queue.ts';

export interface Queued {
  manifestId: ManifestId;
  /** Fewer than were decided when an entry met a unique index. */
  entryCount: number;
}

/**
 * Advances the schedules, and queues an entry per occurrence of exactly those that this moved, as one set. A manifest that is missing from the answer was not where the
 * decision saw it any more: another manager was faster. No entry is available before its occurrence plus its jitter, also when it is queued with others that were missed.
 *
 * One statement and not two: the second would look up each manifest again, and its row would travel twice.
 */
export function queueOccurrences(db: Db, decisions: QueueDecision[]): Promise<Queued[]> {
  const entries = decisions.flatMap(({ manifestId, lane, occurrences }) =>
    occurrences.map((occurrenceAt) => ({ manifestId, isSeries: lane === 'series', occurrenceAt })),
  );
  // Only dependents have any.
  const counts = decisions
    .filter(({ consumedCounts }) => Object.keys(consumedCounts).length > 0)
    .map((row) => [row.manifestId, row.consumedCounts]);
  return db.query<Queued>(sql`
    with advanced as (
      update waybill.manifest m set next_occurrence_at = d.next_occurrence_at, next_due_at = ${nextDueAt} from ${recordset(decisions)} where ${isUnmoved(decisions)}
      returning m.id, m.external_id, m.schedule_type, m.workflow_name, m.input, m.pool, m.group_id, m.priority, m.jitter_seconds, m.max_attempts, m.timeout_seconds,
                m.backoff_initial_seconds, m.backoff_factor, m.backoff_max_seconds, m.backoff_jitter
    ), queued as (
      insert into waybill.work_queue (workflow_name, input, pool, manifest_id, group_id, priority, lane, origin, occurrence_at, available_at, max_attempts,
                                      timeout_seconds, backoff_initial_seconds, backoff_factor, backoff_max_seconds, backoff_jitter,
                                      consumed_counts, initiator_type, initiator_id, initiator_name)
      select m.workflow_name, m.input, m.pool, m.id, m.group_id,
             m.priority + case when m.schedule_type = 'dependent' then ${DEPENDENT_PRIORITY_BOOST}::int else 0 end,
             (case when e.is_series then 'series' else 'fresh' end)::waybill.work_queue_lane, (case when m.schedule_type = 'dependent' then 'dependency' else 'schedule' end)::waybill.work_origin, e.occurrence_at,
             greatest(waybill.now(), e.occurrence_at + waybill.jitter(m.id, e.occurrence_at, m.jitter_seconds)),
             m.max_attempts, m.timeout_seconds, m.backoff_initial_seconds, m.backoff_factor, m.backoff_max_seconds, m.backoff_jitter,
             coalesce(${JSON.stringify(Object.fromEntries(counts))}::jsonb -> m.id::text, '{}'), (case when m.schedule_type = 'dependent' then 'dependency' else 'schedule' end)::waybill.initiator_type, m.id::text,
             m.external_id
        from unnest(${arrayOf(entries.map((entry) => entry.manifestId))}::bigint[], ${arrayOf(entries.map((entry) => entry.isSeries))}::boolean[],
                    ${arrayOf(entries.map((entry) => entry.occurrenceAt))}::timestamptz[]) e (manifest_id, is_series, occurrence_at)
        join advanced m on m.id = e.manifest_id
       order by m.id, e.occurrence_at
          on conflict do nothing
      returning manifest_id
    )
    select m.id as "manifestId", count(q.manifest_id) as "entryCount"
      from advanced m left join queued q on q.manifest_id = m.id group by m.id`);
}
