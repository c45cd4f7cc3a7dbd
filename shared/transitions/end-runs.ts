import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { ExecutionId, ManifestId } from '../model/ids.ts';
import { cancelEntries } from './cancel-entries.ts';
import { consumeSuccesses } from './consume-successes.ts';
import { type FinishedExecution, finishExecutions, type Outcome } from './finish-executions.ts';
import { markDue } from './mark-due.ts';
import { queueRetries } from './queue-retries.ts';
import { reanchorIntervals } from './reanchor-intervals.ts';
import { writeDeadLetters } from './write-dead-letters.ts';

export type { Failure, FinalState, Outcome } from './finish-executions.ts';

export interface EndedRun extends Omit<FinishedExecution, 'isFinal' | 'counts'> {
  /** What follows: a retry was queued, a dead letter was written, or nothing. */
  next: 'retry' | 'dead_letter' | null;
  /** Whether this outcome, or one recorded with it, gave the manager something to do. */
  wakesManager: boolean;
}

/**
 * Ends runs as one set, in the caller's transaction: final states, counters, consumed successes, retries, dead letters, and who is due because of it.
 * Only the lease holder's outcome counts; an execution that is missing from the answer was ended by somebody else, or belongs to another executor by now.
 *
 * Manifests are locked before executions, own and children together in the order of their ids, so that outcomes of several invocations never
 * wait for each other in a circle; counts are read in the statements after the lock.
 */
export async function endRuns(db: Db, outcomes: Outcome[]): Promise<EndedRun[]> {
  if (!outcomes.length) return [];
  const locked = await lockManifests(db, outcomes);
  const finished = await finishExecutions(db, outcomes);
  if (!finished.length) return [];
  const ofManifests = finished.filter(
    (run): run is FinishedExecution & { manifestId: ManifestId } => run.manifestId !== null && !run.isChild,
  );
  const over = ofManifests.filter(({ state }) => state !== 'failed');
  await countSuccesses(db, over);
  await consumeSuccesses(db, over);
  const { retried, exhausted } = await countFailures(
    db,
    finished.filter(({ isChild }) => !isChild),
  );
  await cancelRetries(db, ofManifests, exhausted);
  await queueRetries(db, retried);
  await writeDeadLetters(db, exhausted);
  const manifestIds = [...new Set(ofManifests.map(({ manifestId }) => manifestId))];
  const those = (is: (manifest: LockedManifest) => boolean) =>
    manifestIds.filter((id) => locked.some((manifest) => manifest.id === id && is(manifest)));
  await reanchorIntervals(
    db,
    those(({ isAnchoredAtCompletion }) => isAnchoredAtCompletion),
  );
  await deleteRetired(
    db,
    those(({ isRetiring }) => isRetiring),
  );
  const succeeded = over.filter(({ state }) => state !== 'cancelled').map(({ manifestId }) => manifestId);
  const due = await markDue(db, [...manifestIds, ...(await findDependents(db, succeeded))]);
  const wakesManager = due.length > 0 || retried.length > 0;
  return finished.map(({ isFinal: _, counts: __, ...run }) => ({
    ...run,
    wakesManager,
    next: retried.includes(run.executionId) ? 'retry' : exhausted.includes(run.executionId) ? 'dead_letter' : null,
  }));
}

/** What the rows say of themselves is what they say now: the lock gives the latest version, only subqueries would be older. */
interface LockedManifest {
  id: ManifestId;
  isAnchoredAtCompletion: boolean;
  isRetiring: boolean;
}

/** The children of a run that may succeed are locked along with its own manifest: they will be marked due. */
function lockManifests(db: Db, outcomes: Outcome[]): Promise<LockedManifest[]> {
  const ids = outcomes.map(({ executionId }) => executionId);
  const succeeding = outcomes
    .filter(({ state }) => state === 'completed' || state === 'completed_with_warnings')
    .map(({ executionId }) => executionId);
  return db.query<LockedManifest>(sql`
    select id, anchor is not distinct from 'completion' as "isAnchoredAtCompletion", retiring_at is not null as "isRetiring" from waybill.manifest
     where id in (
       select manifest_id from waybill.execution where id = any(${ids}::bigint[]) and manifest_id is not null
       union
       select d.child_id from waybill.manifest_dependency d
        where d.parent_id in (select manifest_id from waybill.execution where id = any(${succeeding}::bigint[]) and manifest_id is not null))
     order by id for no key update`);
}

async function countSuccesses(db: Db, over: { executionId: ExecutionId }[]): Promise<void> {
  if (!over.length) return;
  await db.query(sql`
    update waybill.manifest m
       set failed_count = 0,
           success_count = m.success_count + case when e.state = 'cancelled' then 0 else 1 end,
           last_successful_run = case when e.state = 'cancelled' then m.last_successful_run else e.finished_at end,
           last_success_started_at = case when e.state = 'cancelled' then m.last_success_started_at else e.started_at end
      from waybill.execution e
     where e.id = any(${over.map(({ executionId }) => executionId)}::bigint[]) and m.id = e.manifest_id`);
}

/** A manifest's failures are counted on the manifest, those of an ad-hoc run by its attempts. */
async function countFailures(db: Db, finished: FinishedExecution[]): Promise<{ retried: ExecutionId[]; exhausted: ExecutionId[] }> {
  const failed = finished.filter(({ state }) => state === 'failed');
  if (!failed.length) return { retried: [], exhausted: [] };
  const ids = failed.map(({ executionId }) => executionId);
  const judged = await db.query<{ id: ExecutionId; isExhausted: boolean }>(sql`
    with counted as (
      update waybill.manifest m set failed_count = m.failed_count + 1
        from waybill.execution e
       where e.id = any(${ids}::bigint[]) and m.id = e.manifest_id
      returning e.id, m.failed_count >= m.max_attempts as is_exhausted
    )
    select e.id, coalesce(c.is_exhausted, e.attempt >= e.max_attempts) as "isExhausted"
      from waybill.execution e left join counted c on c.id = e.id
     where e.id = any(${ids}::bigint[])`);
  const final = new Set(failed.filter(({ isFinal }) => isFinal).map(({ executionId }) => executionId));
  const exhausted = judged.filter(({ id, isExhausted }) => isExhausted || final.has(id)).map(({ id }) => id);
  return { exhausted, retried: judged.map(({ id }) => id).filter((id) => !exhausted.includes(id)) };
}

/** A manifest that is handed to a person has no retry waiting. */
async function cancelRetries(
  db: Db,
  runs: { executionId: ExecutionId; manifestId: ManifestId }[],
  exhausted: ExecutionId[],
): Promise<void> {
  const manifestIds = runs.filter(({ executionId }) => exhausted.includes(executionId)).map(({ manifestId }) => manifestId);
  if (manifestIds.length) await cancelEntries(db, { manifestIds, lane: 'retry' }, 'the manifest was dead-lettered');
}

/** A manifest that is no longer declared goes with its last run; no further attempt of it is made. */
async function deleteRetired(db: Db, manifestIds: ManifestId[]): Promise<void> {
  if (!manifestIds.length) return;
  const retired = await db.query<{ id: ManifestId }>(sql`
    update waybill.manifest set deleted_at = waybill.now(), next_due_at = null
     where id = any(${manifestIds}::bigint[]) and retiring_at is not null and deleted_at is null
    returning id`);
  if (retired.length) await cancelEntries(db, { manifestIds: retired.map(({ id }) => id) }, 'the manifest is no longer declared');
}

/** Locked at the beginning, but for those whose edge was written since. */
async function findDependents(db: Db, parentIds: ManifestId[]): Promise<ManifestId[]> {
  if (!parentIds.length) return [];
  const children = await db.query<{ id: ManifestId }>(sql`
    select m.id from waybill.manifest m
     where m.id in (select d.child_id from waybill.manifest_dependency d where d.parent_id = any(${parentIds}::bigint[])) and m.schedule_type = 'dependent'
     order by m.id for no key update`);
  return children.map(({ id }) => id);
}
