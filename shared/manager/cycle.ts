import { chain, type StepReport } from '../chain/chain.ts';
import type { Database, Db } from '../db/database.ts';
import { readNow } from '../db/database.ts';
import type { ManifestView } from '../model/manifest.ts';
import type { Doorbell } from '../queue/doorbell.ts';
import type { PoolSettings } from '../settings.ts';
import type { EndedRun } from '../transitions/end-runs.ts';
import { ringDoorbells } from '../transitions/ring-doorbells.ts';
import { confirmArmedWake } from './confirm-armed-wake.ts';
import { createWorkQueueEntries } from './create-work-queue-entries.ts';
import { type Decision, determineJobsToQueue } from './determine-jobs-to-queue.ts';
import { findQuietBells } from './find-quiet-bells.ts';
import { loadManifests } from './load-manifests.ts';
import { type PlannedWake, planNextWake } from './plan-next-wake.ts';
import { reapFailedJobs } from './reap-failed-jobs.ts';
import { recoverExpiredLeases } from './recover-expired-leases.ts';
import { tryLeadership } from './try-leadership.ts';

/**
 * The manager decides what is due and writes it to the work queue. Each round is one short transaction under leadership:
 * runs whose executor died are ended, due manifests are loaded and judged, and what should run is queued. Rounds follow
 * until nothing due is left or the time is used up; while each is full, two run side by side, on rows that they lock for themselves, and the last one runs alone,
 * so that it plans the next wake for what all of them have written.
 *
 * Killed before a commit, a round has not happened. Killed after it, the entries are there and the bells are missing; the
 * next cycle finds queued entries and quiet executions by looking, so it rings as if nothing had been.
 * Leadership only saves work: occurrences advance conditionally and entries are unique, so two managers at once queue
 * each occurrence once.
 */
export const managerRound = chain(
  'manager',
  recoverExpiredLeases,
  loadManifests,
  reapFailedJobs,
  determineJobsToQueue,
  createWorkQueueEntries,
  planNextWake,
);

export interface CycleContext {
  db: Db;
  now: Date;
  /** How many due manifests one round takes. */
  batchSize: number;
}

export interface ManagerDependencies {
  database: Database;
  doorbell: Doorbell;
  pools: Record<string, PoolSettings>;
  /** Whether there is time for another round. */
  hasTime?: () => boolean;
  batchSize?: number;
  onStep?: (report: StepReport) => void;
}

export interface CycleFigures {
  isLeader: boolean;
  recoveredCount: number;
  dueCount: number;
  queuedCount: number;
  skippedCount: number;
  quarantinedCount: number;
  rungCount: number;
  /** Runs that were ended because their executor was gone. */
  recovered: EndedRun[];
  /** How late each manifest was queued, by the group under which it is measured. */
  lateness: { group: string; seconds: number }[];
}

/** Rounds side by side while there is a backlog: as many as the connections of a function's pool. One alone leaves half of a small server idle. */
const MOST_ROUNDS = 2;

/** One manager cycle. A cycle that finds another in charge leaves at once. */
export async function managerCycle({ database, doorbell, pools, hasTime = () => true, batchSize = 1000, onStep }: ManagerDependencies) {
  const figures: CycleFigures = {
    isLeader: false,
    recoveredCount: 0,
    dueCount: 0,
    queuedCount: 0,
    skippedCount: 0,
    quarantinedCount: 0,
    rungCount: 0,
    recovered: [],
    lateness: [],
  };
  let planned: PlannedWake | undefined;
  let roundCount = 1;
  do {
    const places = Array.from({ length: roundCount }, (_, place) => place);
    const rounds = (await Promise.all(places.map((place) => runRound(database, { place, batchSize, onStep })))).filter((round) => !!round);
    if (!rounds.length && !figures.isLeader) return figures;
    // Another one has taken over in between. It may have planned before the last of these rounds was committed, so the bells for that are rung here.
    if (!rounds.length) break;
    figures.isLeader = true;
    for (const round of rounds) addRound(figures, round);
    planned = { ...rounds.at(-1)?.planned, hasQueuedWork: rounds.some((round) => round.planned.hasQueuedWork) };
    const isFull = rounds.every(({ manifests }) => manifests.length === batchSize);
    if (!isFull && roundCount === 1) break;
    roundCount = isFull ? MOST_ROUNDS : 1;
  } while (hasTime());

  const quiet = await findQuietBells(database);
  figures.rungCount = (await ringDoorbells(database, doorbell, pools, quiet)).length;
  if (planned?.hasQueuedWork) await doorbell.pokeDispatcher();
  if (planned?.wake) {
    await doorbell.pokeManager(planned.wake);
    await confirmArmedWake(database, planned.wake);
  }
  return figures;
}

/** One round under the leadership of its place; nothing, when another manager has it. */
function runRound(
  database: Database,
  { place, batchSize, onStep }: { place: number } & Pick<ManagerDependencies, 'onStep'> & { batchSize: number },
) {
  return database.transaction(async (db) => {
    if (!(await tryLeadership(db, place))) return undefined;
    const now = await readNow(db);
    return { now, ...(await managerRound({}, { db, now, batchSize }, onStep)) };
  });
}

type Round = NonNullable<Awaited<ReturnType<typeof runRound>>>;

function addRound(figures: CycleFigures, round: Round): void {
  figures.recoveredCount += round.recovered.length;
  figures.recovered.push(...round.recovered);
  figures.lateness.push(...measureLateness(round));
  figures.dueCount += round.manifests.length;
  figures.queuedCount += round.queuedCount;
  figures.skippedCount += round.decision.skipped.length;
  figures.quarantinedCount += round.decision.quarantined.length;
}

function measureLateness({
  manifests,
  decision,
  now,
}: {
  manifests: ManifestView[];
  decision: Decision;
  now: Date;
}): CycleFigures['lateness'] {
  const groups = new Map(manifests.map(({ id, metricGroup }) => [id, metricGroup]));
  return decision.queue.map(({ manifestId, seenDueAt }) => ({
    group: groups.get(manifestId) ?? 'other',
    seconds: (now.getTime() - seenDueAt.getTime()) / 1000,
  }));
}
