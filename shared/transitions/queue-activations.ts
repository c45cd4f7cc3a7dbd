import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { ManifestId, WorkQueueId } from '../model/ids.ts';
import { DEPENDENT_PRIORITY_BOOST } from '../model/priority.ts';
import type { ParentExecution } from './hold-lease.ts';

export interface QueuedActivation {
  manifestId: ManifestId;
  /** As JSON text; null takes the manifest's own. */
  input: string | null;
}

/**
 * Queues one entry per manifest, as one set, and gives the entry of each; one that is missing met the unique index. The input is the run's own through every retry. No success
 * of a parent is counted as consumed: a dormant dependent is never due, so there is nothing for a count to hold back, and the parent that activates it has
 * not succeeded yet.
 */
export async function queueActivations(
  db: Db,
  parent: ParentExecution,
  activations: readonly QueuedActivation[],
): Promise<Map<ManifestId, WorkQueueId>> {
  if (!activations.length) return new Map();
  const queued = await db.query<{ id: WorkQueueId; manifestId: ManifestId }>(sql`
    insert into waybill.work_queue (workflow_name, input, is_input_given, pool, manifest_id, group_id, priority, lane, origin, max_attempts, timeout_seconds,
                                    backoff_initial_seconds, backoff_factor, backoff_max_seconds, backoff_jitter,
                                    initiator_type, initiator_id, initiator_name)
    select m.workflow_name, coalesce(a.input::jsonb, m.input), a.input is not null, m.pool, m.id, m.group_id,
           m.priority + ${DEPENDENT_PRIORITY_BOOST}::int, 'fresh', 'activation', m.max_attempts, m.timeout_seconds,
           m.backoff_initial_seconds, m.backoff_factor, m.backoff_max_seconds, m.backoff_jitter,
           'execution', ${String(parent.id)}, ${parent.externalId}
      from unnest(${activations.map(({ manifestId }) => manifestId)}::bigint[], ${activations.map(({ input }) => input)}::text[]) a (manifest_id, input)
      join waybill.manifest m on m.id = a.manifest_id
     order by m.id
        on conflict do nothing
    returning id, manifest_id as "manifestId"`);
  return new Map(queued.map(({ id, manifestId }) => [manifestId, id]));
}
