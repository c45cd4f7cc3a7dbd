import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { ManifestId, WorkQueueId } from '../model/ids.ts';
import type { Initiator } from '../model/initiator.ts';
import { DEPENDENT_PRIORITY_BOOST } from '../model/priority.ts';

export interface ManualEntry {
  manifestId: ManifestId;
  /** The manifest's own if undefined. */
  input: unknown;
  lane: 'fresh' | 'series';
  delaySeconds: number;
  initiator: Initiator;
}

/** Queues what a person asked for. Undefined means that the place is taken. */
export async function queueManualEntry(
  db: Db,
  { manifestId, input, lane, delaySeconds, initiator }: ManualEntry,
): Promise<WorkQueueId | undefined> {
  const given = input === undefined ? null : JSON.stringify(input);
  const [entry] = await db.query<{ id: WorkQueueId }>(sql`
    insert into waybill.work_queue (workflow_name, input, is_input_given, pool, manifest_id, group_id, priority, lane, origin, occurrence_at, available_at,
                                    max_attempts, timeout_seconds, backoff_initial_seconds, backoff_factor, backoff_max_seconds, backoff_jitter,
                                    initiator_type, initiator_id, initiator_name)
    select m.workflow_name, coalesce(${given}::jsonb, m.input), ${input !== undefined}, m.pool, m.id, m.group_id,
           m.priority + case when m.schedule_type in ('dependent', 'dormant_dependent') then ${DEPENDENT_PRIORITY_BOOST}::int else 0 end,
           ${lane}, 'manual', case when ${lane} = 'series' then t.at end, t.at,
           m.max_attempts, m.timeout_seconds, m.backoff_initial_seconds, m.backoff_factor, m.backoff_max_seconds, m.backoff_jitter,
           ${initiator.type}, ${initiator.id}, ${initiator.name}
      from waybill.manifest m, lateral (select waybill.now() + make_interval(secs => ${delaySeconds}) as at) t
     where m.id = ${manifestId}
        on conflict do nothing
    returning id`);
  return entry?.id;
}
