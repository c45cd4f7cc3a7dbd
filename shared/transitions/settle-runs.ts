import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { ExecutionId, ManifestId } from '../model/ids.ts';
import { cancelEntries } from './cancel-entries.ts';
import { consumeSuccesses } from './consume-successes.ts';
import type { FinishedExecution } from './finish-executions.ts';
import type { LockedManifest } from './lock-concerned.ts';
import { markDue } from './mark-due.ts';
import { queueRetries } from './queue-retries.ts';
import { type SettledManifest, settleManifests } from './settle-manifests.ts';
import { writeDeadLetters } from './write-dead-letters.ts';

export interface SettledRuns {
  retried: ExecutionId[];
  deadLettered: ExecutionId[];
  wakesManager: boolean;
}

/**
 * What the end of whole runs, jobs and plans alike, means for everybody else: counters, consumed successes, retries, dead letters, and who is due because of it. The manifests are locked; parts of
 * a run mean nothing to them.
 *
 * A plan that failed is not tried again by itself, so it has had its turn: the successes of parents that it was for are consumed, and only its own failures in a row lead to a dead letter.
 */
export async function settleRuns(db: Db, finished: FinishedExecution[], locked: LockedManifest[]): Promise<SettledRuns> {
  const ofManifests = finished.filter((run): run is FinishedExecution & { manifestId: ManifestId } => run.manifestId !== null);
  const settled = new Map(
    (
      await settleManifests(
        db,
        ofManifests.map(({ executionId }) => executionId),
      )
    ).map((row) => [row.id, row]),
  );
  await consumeSuccesses(
    db,
    ofManifests.filter(({ state, isPlan }) => state !== 'failed' || isPlan),
  );
  const failed = finished.filter(({ state }) => state === 'failed');
  const isExhausted = ({ isFinal, manifestId, isLastAttempt }: FinishedExecution) =>
    isFinal || (manifestId === null ? isLastAttempt : (settled.get(manifestId)?.isExhausted ?? isLastAttempt));
  // A manifest that is no longer declared is not tried again: it goes with this run.
  const isRetired = ({ manifestId }: FinishedExecution) => manifestId !== null && settled.get(manifestId)?.isRetired;
  const exhausted = failed.filter(isExhausted);
  const deadLettered = exhausted.map(({ executionId }) => executionId);
  const retried = failed.filter((run) => !run.isPlan && !isExhausted(run) && !isRetired(run)).map(({ executionId }) => executionId);
  await cancelRetries(db, ofManifests, deadLettered);
  await queueRetries(db, retried);
  await writeDeadLetters(db, exhausted);
  await cancelEntriesOfRetired(db, [...settled.values()]);
  const succeeded = ofManifests.filter(
    ({ state, manifestId }) => state !== 'cancelled' && state !== 'failed' && settled.get(manifestId)?.hasDependents,
  );
  const children = await findDependents(
    db,
    succeeded.map(({ manifestId }) => manifestId),
  );
  const due = await markDue(db, children);
  const wakesManager = due.length > 0 || retried.length > 0 || locked.some((manifest) => becameDue(manifest, settled.get(manifest.id)));
  return { retried, deadLettered, wakesManager };
}

function becameDue({ nextDueAt }: LockedManifest, settled: SettledManifest | undefined): boolean {
  return settled?.nextDueAt != null && settled.nextDueAt.getTime() !== nextDueAt?.getTime();
}

/** A manifest that is handed to a person has no retry waiting. */
async function cancelRetries(
  db: Db,
  runs: { executionId: ExecutionId; manifestId: ManifestId }[],
  deadLettered: ExecutionId[],
): Promise<void> {
  const manifestIds = runs.filter(({ executionId }) => deadLettered.includes(executionId)).map(({ manifestId }) => manifestId);
  if (manifestIds.length) await cancelEntries(db, { manifestIds, lane: 'retry' }, 'the manifest was dead-lettered');
}

/** What else was queued for a manifest that is no longer declared goes with its last run. */
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
