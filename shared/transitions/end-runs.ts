import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { ExecutionId, ManifestId } from '../model/ids.ts';
import { markDue } from './mark-due.ts';
import { queueRetries } from './queue-retries.ts';
import { writeDeadLetters } from './write-dead-letters.ts';

export type FinalState = 'completed' | 'completed_with_warnings' | 'failed' | 'cancelled';

export interface Failure {
  code: string;
  message: string;
  stack?: string;
  step?: string;
  /** Trying again cannot help: the run is dead-lettered at once. */
  isFinal?: boolean;
}

export interface Outcome {
  executionId: ExecutionId;
  /** The lease under which it was reached; null ends a run only once its lease has expired. */
  leaseToken: string | null;
  state: FinalState;
  output?: unknown;
  failure?: Failure;
  runningMs?: number;
}

export interface EndedRun {
  executionId: ExecutionId;
  runId: ExecutionId;
  manifestId: ManifestId | null;
  externalId: string | null;
  workflowName: string | null;
  state: FinalState;
  attempt: number;
  failureCode: string | null;
  failureMessage: string | null;
  runningMs: number;
  /** What follows: a retry was queued, a dead letter was written, or nothing. */
  next: 'retry' | 'dead_letter' | null;
}

interface FinishedRow extends Omit<EndedRun, 'next'> {
  isFinal: boolean;
}

/**
 * Ends runs as one set, in the caller's transaction: final states, counters, retries, dead letters, and who is due
 * because of it. Only the lease holder's outcome counts; an execution that is missing from the answer was ended by somebody
 * else, or belongs to another executor by now.
 *
 * Manifests are locked before executions, all in the order of their ids, so that outcomes of several invocations never wait
 * for each other in a circle; counts are read in the statements after the lock.
 */
export async function endRuns(db: Db, outcomes: Outcome[]): Promise<EndedRun[]> {
  if (!outcomes.length) return [];
  await lockManifests(db, outcomes);
  const finished = await finishExecutions(db, outcomes);
  await countSuccesses(db, finished);
  const { retried, exhausted } = await countFailures(db, finished);
  await queueRetries(db, retried);
  await writeDeadLetters(db, exhausted);
  const manifestIds = [...new Set(finished.flatMap(({ manifestId }) => (manifestId === null ? [] : [manifestId])))];
  await reanchorIntervals(db, manifestIds);
  await deleteRetired(db, manifestIds);
  await markDue(db, manifestIds);
  return finished.map(({ isFinal: _, ...run }) => ({
    ...run,
    next: retried.includes(run.executionId) ? 'retry' : exhausted.includes(run.executionId) ? 'dead_letter' : null,
  }));
}

async function lockManifests(db: Db, outcomes: Outcome[]): Promise<void> {
  await db.query(sql`
    select id from waybill.manifest
     where id in (select manifest_id from waybill.execution where id = any(${outcomes.map(({ executionId }) => executionId)}::bigint[]))
     order by id for no key update`);
}

/** A run that fails although its cancellation was requested has been cancelled: it is not retried. */
function finishExecutions(db: Db, outcomes: Outcome[]): Promise<FinishedRow[]> {
  return db.query<FinishedRow>(sql`
    with outcome as (
      select * from jsonb_to_recordset(${JSON.stringify(outcomes.map(toRow))}::jsonb) as o (
        id bigint, lease_token uuid, state waybill.execution_state, output jsonb, running_ms bigint,
        failure_code text, failure_message text, failure_stack text, failure_step text, is_final boolean)
    ), held as (
      select e.id from waybill.execution e join outcome o on o.id = e.id
       where e.state = 'in_progress'
         and case when o.lease_token is null then e.lease_expires_at < waybill.now() else e.lease_token = o.lease_token end
       order by e.id for no key update of e
    )
    update waybill.execution e
       set state = case when o.state = 'failed' and e.cancel_requested_at is not null then 'cancelled' else o.state end,
           output = o.output, failure_code = o.failure_code, failure_message = o.failure_message, failure_stack = o.failure_stack,
           failure_step = o.failure_step, finished_at = waybill.now(), lease_expires_at = null,
           running_ms = e.running_ms + coalesce(o.running_ms, extract(epoch from waybill.now() - e.started_at) * 1000)::bigint
      from outcome o join held on held.id = o.id
     where e.id = o.id and e.state = 'in_progress'
    returning e.id as "executionId", e.run_id as "runId", e.manifest_id as "manifestId", e.workflow_name as "workflowName", e.state,
              e.attempt, e.failure_code as "failureCode", e.failure_message as "failureMessage", e.running_ms as "runningMs",
              (select m.external_id from waybill.manifest m where m.id = e.manifest_id) as "externalId",
              coalesce(o.is_final, false) as "isFinal"`);
}

function toRow({ executionId, leaseToken, state, output, failure, runningMs }: Outcome) {
  return {
    id: executionId,
    lease_token: leaseToken,
    state,
    output,
    running_ms: runningMs === undefined ? undefined : Math.round(runningMs),
    failure_code: failure?.code,
    failure_message: failure?.message,
    failure_stack: failure?.stack,
    failure_step: failure?.step,
    is_final: failure?.isFinal,
  };
}

async function countSuccesses(db: Db, finished: FinishedRow[]): Promise<void> {
  const ids = finished.filter(({ state }) => state !== 'failed').map(({ executionId }) => executionId);
  if (!ids.length) return;
  await db.query(sql`
    update waybill.manifest m
       set failed_count = 0,
           success_count = m.success_count + case when e.state = 'cancelled' then 0 else 1 end,
           last_successful_run = case when e.state = 'cancelled' then m.last_successful_run else e.finished_at end,
           last_success_started_at = case when e.state = 'cancelled' then m.last_success_started_at else e.started_at end
      from waybill.execution e
     where e.id = any(${ids}::bigint[]) and e.parent_id is null and m.id = e.manifest_id`);
}

/** A manifest's failures are counted on the manifest, those of an ad-hoc run by its attempts. */
async function countFailures(db: Db, finished: FinishedRow[]): Promise<{ retried: ExecutionId[]; exhausted: ExecutionId[] }> {
  const failed = finished.filter(({ state }) => state === 'failed');
  if (!failed.length) return { retried: [], exhausted: [] };
  const judged = await db.query<{ id: ExecutionId; isExhausted: boolean }>(sql`
    with counted as (
      update waybill.manifest m set failed_count = m.failed_count + 1
        from waybill.execution e
       where e.id = any(${failed.map(({ executionId }) => executionId)}::bigint[]) and e.parent_id is null and m.id = e.manifest_id
      returning e.id, m.failed_count >= m.max_attempts as is_exhausted
    )
    select e.id, coalesce(c.is_exhausted, e.attempt >= e.max_attempts) as "isExhausted"
      from waybill.execution e left join counted c on c.id = e.id
     where e.id = any(${failed.map(({ executionId }) => executionId)}::bigint[])`);
  const final = new Set(failed.filter(({ isFinal }) => isFinal).map(({ executionId }) => executionId));
  const exhausted = judged.filter(({ id, isExhausted }) => isExhausted || final.has(id)).map(({ id }) => id);
  return { exhausted, retried: judged.map(({ id }) => id).filter((id) => !exhausted.includes(id)) };
}

/** An interval that is anchored at completion counts from the end of the run. */
async function reanchorIntervals(db: Db, manifestIds: ManifestId[]): Promise<void> {
  await db.query(sql`
    update waybill.manifest set next_occurrence_at = waybill.now() + make_interval(secs => interval_seconds)
     where id = any(${manifestIds}::bigint[]) and schedule_type = 'interval' and anchor = 'completion'`);
}

/** A manifest that is no longer declared goes with its last run; no further attempt of it is made. */
async function deleteRetired(db: Db, manifestIds: ManifestId[]): Promise<void> {
  const retired = await db.query<{ id: ManifestId }>(sql`
    update waybill.manifest set deleted_at = waybill.now(), next_due_at = null
     where id = any(${manifestIds}::bigint[]) and retiring_at is not null and deleted_at is null
    returning id`);
  if (!retired.length) return;
  await db.query(sql`
    update waybill.work_queue set status = 'cancelled', cancelled_at = waybill.now(), cancel_reason = 'the manifest is no longer declared'
     where manifest_id = any(${retired.map(({ id }) => id)}::bigint[]) and status = 'queued' and execution_id is null`);
}
