import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { ExecutionId, ManifestId } from '../model/ids.ts';
import { cancelEntries } from './cancel-entries.ts';
import { consumeSuccesses } from './consume-successes.ts';
import { type FinishedExecution, finishExecutions, type Outcome } from './finish-executions.ts';
import { markDue } from './mark-due.ts';
import { queueRetries } from './queue-retries.ts';
import { type SettledManifest, settleManifests } from './settle-manifests.ts';
import { writeDeadLetters } from './write-dead-letters.ts';

export type { Failure, FinalState, Outcome } from './finish-executions.ts';

export interface EndedRun extends Omit<FinishedExecution, 'isFinal' | 'isLastAttempt' | 'counts'> {
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
  const settled = new Map(
    (
      await settleManifests(
        db,
        ofManifests.map(({ executionId }) => executionId),
      )
    ).map((row) => [row.id, row]),
  );
  const over = ofManifests.filter(({ state }) => state !== 'failed');
  await consumeSuccesses(db, over);
  const failed = finished.filter(({ state, isChild }) => state === 'failed' && !isChild);
  const isExhausted = ({ isFinal, manifestId, isLastAttempt }: FinishedExecution) =>
    isFinal || (manifestId === null ? isLastAttempt : (settled.get(manifestId)?.isExhausted ?? isLastAttempt));
  const exhausted = failed.filter(isExhausted).map(({ executionId }) => executionId);
  const retried = failed.map(({ executionId }) => executionId).filter((id) => !exhausted.includes(id));
  await cancelRetries(db, ofManifests, exhausted);
  await queueRetries(db, retried);
  await writeDeadLetters(db, exhausted);
  await cancelEntriesOfRetired(db, [...settled.values()]);
  const succeeded = over.filter(({ state, manifestId }) => state !== 'cancelled' && settled.get(manifestId)?.hasDependents);
  const children = await findDependents(
    db,
    succeeded.map(({ manifestId }) => manifestId),
  );
  const due = await markDue(db, children);
  const wakesManager = due.length > 0 || retried.length > 0 || locked.some((manifest) => becameDue(manifest, settled.get(manifest.id)));
  return finished.map(({ isFinal: _, isLastAttempt: __, counts: ___, ...run }) => ({
    ...run,
    wakesManager,
    next: retried.includes(run.executionId) ? 'retry' : exhausted.includes(run.executionId) ? 'dead_letter' : null,
  }));
}

interface LockedManifest {
  id: ManifestId;
  /** What the row says of itself is what it says now: the lock gives the latest version, only subqueries would be older. */
  nextDueAt: Date | null;
}

/** The children of a run that may succeed are locked along with its own manifest: they will be marked due. */
function lockManifests(db: Db, outcomes: Outcome[]): Promise<LockedManifest[]> {
  const ids = outcomes.map(({ executionId }) => executionId);
  const succeeding = outcomes
    .filter(({ state }) => state === 'completed' || state === 'completed_with_warnings')
    .map(({ executionId }) => executionId);
  return db.query<LockedManifest>(sql`
    select id, next_due_at as "nextDueAt" from waybill.manifest
     where id in (
       select manifest_id from waybill.execution where id = any(${ids}::bigint[]) and manifest_id is not null
       union
       select d.child_id from waybill.manifest_dependency d
        where d.parent_id in (select manifest_id from waybill.execution where id = any(${succeeding}::bigint[]) and manifest_id is not null))
     order by id for no key update`);
}

function becameDue({ nextDueAt }: LockedManifest, settled: SettledManifest | undefined): boolean {
  return settled?.nextDueAt != null && settled.nextDueAt.getTime() !== nextDueAt?.getTime();
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

/** A manifest that is no longer declared is not tried again. */
async function cancelEntriesOfRetired(db: Db, settled: SettledManifest[]): Promise<void> {
  const manifestIds = settled.filter(({ isRetired }) => isRetired).map(({ id }) => id);
  if (manifestIds.length) await cancelEntries(db, { manifestIds }, 'the manifest is no longer declared');
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
