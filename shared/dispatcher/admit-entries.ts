import type { Db } from '../db/database.ts';
import { metricGroup } from '../db/queries/metric-group.ts';
import { resolvedPool } from '../db/queries/resolved-pool.ts';
import { sql } from '../db/sql.ts';
import type { WorkQueueId } from '../model/ids.ts';
import type { RingableExecution } from '../queue/send-bells.ts';
import type { ClaimContext } from './cycle.ts';
import type { Head } from './read-heads.ts';

/** Turns the locked entries into pending executions, in the order of their rank: new ones, and those that were waiting. */
export async function admitEntries<Round extends { candidates: Head[] }>(
  round: Round,
  { db }: ClaimContext,
): Promise<Round & { admitted: AdmittedExecution[] }> {
  const started = round.candidates.filter(({ executionId }) => executionId === null).map(({ id }) => id);
  const continued = round.candidates.filter(({ executionId }) => executionId !== null).map(({ id }) => id);
  const admitted = [...(await startExecutions(db, started)), ...(await continueExecutions(db, continued))];
  const places = new Map(round.candidates.map(({ id }, place) => [id, place]));
  admitted.sort((a, b) => places.get(a.entryId)! - places.get(b.entryId)!);
  return { ...round, admitted: admitted.map(({ entryId: _, ...execution }) => execution) };
}

export interface AdmittedExecution extends RingableExecution {
  metricGroup: string;
  /** From the instant it was available. */
  waitedSeconds: number;
}

type Admitted = AdmittedExecution & { entryId: WorkQueueId };

const measured = sql`${metricGroup} as "metricGroup", extract(epoch from waybill.now() - w.available_at)::float8 as "waitedSeconds"`;

/** The input of entry `w`: a schedule's or a dependency's takes the one that its manifest `m` has now. */
export const admittedInput = sql`
  case when w.origin in ('schedule', 'dependency') and w.attempt = 1 and not w.is_input_given then coalesce(m.input, w.input) else w.input end`;

/** The counts of entry `w`: a dependent's first attempt takes those that the parents of its manifest `m` have now. */
export const admittedCounts = sql`
  case when m.schedule_type = 'dependent' and w.attempt = 1
       then (select coalesce(jsonb_object_agg(d.parent_id, p.success_count), '{}')
               from waybill.manifest_dependency d join waybill.manifest p on p.id = d.parent_id where d.child_id = m.id)
       else w.consumed_counts end`;

/**
 * Inserts the executions, with their bell noted, and marks exactly their entries. `on conflict` only backs the locks up: one unfinished execution per manifest.
 */
async function startExecutions(db: Db, entryIds: WorkQueueId[]): Promise<Admitted[]> {
  if (!entryIds.length) return [];
  return db.query<Admitted>(sql`
    with entry as materialized (
      select nextval('waybill.execution_id_seq') as new_id, w.*, ${resolvedPool(sql`w`)} as resolved_pool,
             ${admittedInput} as admitted_input, ${admittedCounts} as admitted_counts
        from unnest(${entryIds}::bigint[]) with ordinality as chosen (id, place)
        join waybill.work_queue w on w.id = chosen.id
        left join waybill.manifest m on m.id = w.manifest_id
       where w.status = 'queued'
       order by chosen.place
    ), admitted as (
      insert into waybill.execution (id, root_id, run_id, manifest_id, workflow_name, pool, group_id, work_queue_id, attempt, occurrence_at, origin,
                                     initiator_type, initiator_id, initiator_name, input, consumed_counts, available_at, max_attempts,
                                     timeout_seconds, backoff_initial_seconds, backoff_factor, backoff_max_seconds, backoff_jitter, priority, sent_at, ring_count)
      overriding system value
      select new_id, new_id, coalesce(run_id, new_id), manifest_id, workflow_name, resolved_pool, group_id, id, attempt, occurrence_at, origin,
             initiator_type, initiator_id, initiator_name, admitted_input, admitted_counts, available_at, max_attempts,
             timeout_seconds, backoff_initial_seconds, backoff_factor, backoff_max_seconds, backoff_jitter, priority, waybill.now(), 1
        from entry
          on conflict do nothing
      returning id, pool, work_queue_id
    ), dispatched as (
      update waybill.work_queue w set status = 'dispatched', dispatched_at = waybill.now()
        from admitted a where w.id = a.work_queue_id
    )
    select a.id, a.pool, a.work_queue_id as "entryId", ${measured} from admitted a join entry w on w.id = a.work_queue_id join waybill.manifest_group g on g.id = w.group_id`);
}

/**
 * Makes waiting executions pending and marks exactly their entries. The execution takes its entry's group and pool, in which the slot was counted, and is
 * rung as if for the first time. Zero rows mean that somebody ends it right now.
 */
async function continueExecutions(db: Db, entryIds: WorkQueueId[]): Promise<Admitted[]> {
  if (!entryIds.length) return [];
  return db.query<Admitted>(sql`
    with held as materialized (
      select e.id, w.id as entry_id, w.group_id, w.available_at, ${resolvedPool(sql`w`)} as pool
        from waybill.work_queue w join waybill.execution e on e.id = w.execution_id
       where w.id = any(${entryIds}::bigint[]) and w.status = 'queued' and e.state = 'waiting'
       order by e.id for no key update of e skip locked
    ), continued as (
      update waybill.execution e
         set state = 'pending', work_queue_id = h.entry_id, group_id = h.group_id, pool = h.pool, available_at = h.available_at,
             sent_at = waybill.now(), ring_count = 1
        from held h where e.id = h.id and e.state = 'waiting'
      returning e.id, e.pool, h.entry_id
    ), dispatched as (
      update waybill.work_queue w set status = 'dispatched', dispatched_at = waybill.now()
        from continued c where w.id = c.entry_id
    )
    select c.id, c.pool, c.entry_id as "entryId", ${measured} from continued c join held w on w.entry_id = c.entry_id join waybill.manifest_group g on g.id = w.group_id`);
}
