import { chain, type StepReport } from '../chain/chain.ts';
import type { Database, Db } from '../db/database.ts';
import { readNow } from '../db/database.ts';
import type { Doorbell } from '../queue/doorbell.ts';
import type { PoolSettings } from '../settings.ts';
import { confirmArmedWake } from './confirm-armed-wake.ts';
import { createWorkQueueEntries } from './create-work-queue-entries.ts';
import { addRound, type CycleCounts, startFigures } from './cycle-figures.ts';
import { determineJobsToQueue } from './determine-jobs-to-queue.ts';
import { findQuietBells } from './find-quiet-bells.ts';
import { loadManifests } from './load-manifests.ts';
import { type PlannedWake, planNextWake } from './plan-next-wake.ts';
import { reapFailedJobs } from './reap-failed-jobs.ts';
import { recoverExpiredLeases } from './recover-expired-leases.ts';
import { ringAgain } from './ring-again.ts';
import { tryLeadership } from './try-leadership.ts';

/**
 * The manager decides what is due and writes it to the work queue. Each round is one short transaction under leadership:
 * runs whose executor died are ended, due manifests are loaded and judged, and what should run is queued. Rounds follow
 * until nothing due is left or the time is used up; while they are full, several run side by side, on rows that they lock for themselves, and the last one runs alone,
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
  /** What the earlier rounds of the cycle did. */
  earlier?: CycleCounts;
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

/**
 * Rounds side by side while there is a backlog. Each of them waits for the database most of the time; two would leave half of a small server idle.
 * A function's pool has as many connections.
 */
export const MOST_ROUNDS = 4;

/** One manager cycle. A cycle that finds another in charge leaves at once. */
export async function managerCycle({ database, doorbell, pools, hasTime = () => true, batchSize = 1000, onStep }: ManagerDependencies) {
  const figures = startFigures();
  const begin = async (place: number) => {
    const round = await runRound(database, { place, batchSize, earlier: figures, onStep });
    if (round) addRound(figures, round);
    return round;
  };
  const isFull = ({ manifests }: Round) => manifests.length === batchSize;
  let planned: PlannedWake | undefined;
  do {
    const round = await begin(0);
    if (!round && !figures.isLeader) return figures;
    // Another one has taken over in between. It may have planned before the last of these rounds was committed, so the bells for that are rung here.
    if (!round) break;
    figures.isLeader = true;
    planned = round.planned;
    if (!isFull(round)) break;
    await sideBySide(MOST_ROUNDS, async (place) => {
      while (hasTime()) {
        const next = await begin(place);
        if (!next || !isFull(next)) return;
      }
    });
  } while (hasTime());

  const quiet = await findQuietBells(database);
  figures.rungCount = (await ringAgain(database, doorbell, pools, quiet)).length;
  if (planned?.hasQueuedWork) await doorbell.pokeDispatcher();
  if (planned?.wake && (await doorbell.pokeManager(planned.wake))) await confirmArmedWake(database, planned.wake);
  return figures;
}

/** Returns when all are over, also when one of them fails: a transaction that is left alone would hold its locks for as long as the function is frozen. */
async function sideBySide(count: number, work: (place: number) => Promise<void>): Promise<void> {
  const settled = await Promise.allSettled(Array.from({ length: count }, (_, place) => work(place)));
  for (const result of settled) if (result.status === 'rejected') throw result.reason;
}

/** One round under the leadership of its place; nothing, when another manager has it. */
function runRound(
  database: Database,
  { place, onStep, ...context }: { place: number } & Pick<ManagerDependencies, 'onStep'> & Omit<CycleContext, 'db' | 'now'>,
) {
  return database.transaction(async (db) => {
    if (!(await tryLeadership(db, place))) return undefined;
    const now = await readNow(db);
    return { now, ...(await managerRound({}, { db, now, ...context }, onStep)) };
  });
}

type Round = NonNullable<Awaited<ReturnType<typeof runRound>>>;
