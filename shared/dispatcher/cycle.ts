import { chain, type StepReport } from '../chain/chain.ts';
import type { Database, Db } from '../db/database.ts';
import type { Doorbell } from '../queue/doorbell.ts';
import type { PoolSettings } from '../settings.ts';
import { type AdmittedExecution, admitEntries } from './admit-entries.ts';
import { lockCapacity } from './lock-capacity.ts';
import { lockEntries } from './lock-entries.ts';
import { lockGroups } from './lock-groups.ts';
import { lockManifests } from './lock-manifests.ts';
import { pickCandidates } from './pick-candidates.ts';
import { ringAdmitted } from './ring-admitted.ts';
import { startPlans } from './start-plans.ts';

/**
 * The dispatcher admits queued work within capacity. Each claim is one short transaction that turns entries into pending executions, best first, within
 * the free slots of the whole, of each group and of each pool; after its commit their bells are rung.
 *
 * Locks are taken in the order of the steps, and what a lock protects is read in a statement after it: a count taken together with the lock is the
 * count from before it. Any number of dispatchers may claim at once. They take turns at the rows of the groups they admit from, and each counts the
 * slots when its turn has come.
 *
 * Plans are started first, in transactions of their own: they take no slot, and their first steps are among what the claim admits.
 *
 * Killed before the commit, nothing was admitted and the pokes come back. Killed after it, the executions are pending and quiet, and the manager rings them.
 *
 * A claim waits for groups but passes over manifests, entries and executions that somebody else has locked. Their wake-up is not lost: most who lock a manifest
 * poke after their commit, but a request that was refused does not, so a cycle that passed over one asks for another look a second later. If it dies before that, the manager's
 * next cycle pokes for whatever is queued and available.
 */
export const dispatcherClaim = chain('dispatcher', lockCapacity, lockGroups, pickCandidates, lockManifests, lockEntries, admitEntries);

export interface ClaimContext {
  db: Db;
  pools: Record<string, PoolSettings>;
  /** How many entries one claim may admit. */
  limit: number;
}

export interface DispatcherDependencies {
  database: Database;
  doorbell: Doorbell;
  pools: Record<string, PoolSettings>;
  /** Whether there is time for another claim. */
  hasTime?: () => boolean;
  batchSize?: number;
  onStep?: (report: StepReport) => void;
}

/** Starts plans and claims until nothing more can be admitted, or the time is used up. */
export async function dispatcherCycle({
  database,
  doorbell,
  pools,
  hasTime = () => true,
  batchSize = 100,
  onStep,
}: DispatcherDependencies) {
  const admissions: AdmittedExecution[] = [];
  let rungCount = 0;
  let startedCount = 0;
  let hasPassedOver = false;
  do {
    const plans = await startPlans(database, batchSize);
    startedCount += plans.startedCount;
    if (plans.ended.some(({ wakesManager }) => wakesManager)) await doorbell.pokeManager();
    const claim = await claimQueuedWork(database, { pools, limit: batchSize, onStep });
    admissions.push(...claim.admitted);
    rungCount += await ringAdmitted(database, doorbell, pools, claim.admitted);
    hasPassedOver ||= plans.hasPassedOver || claim.hasPassedOver;
    if (!claim.mayHaveMore && !plans.mayHaveMore) break;
  } while (hasTime());
  if (hasPassedOver) await doorbell.pokeDispatcher({ delaySeconds: 1 });
  return { admittedCount: admissions.length + startedCount, startedCount, rungCount, admissions };
}

export interface Claim {
  /** In the order of their rank. */
  admitted: AdmittedExecution[];
  /** The claim was full, or left groups out whose work others may have made room for while it waited for the ones it locked. */
  mayHaveMore: boolean;
  /** Somebody held the manifest of an entry that would have been admitted. */
  hasPassedOver: boolean;
}

/** One claim. An entry that is missing from the answer keeps its place. */
export async function claimQueuedWork(
  database: Database,
  { onStep, ...context }: Omit<ClaimContext, 'db'> & Pick<DispatcherDependencies, 'onStep'>,
): Promise<Claim> {
  const { admitted, isNarrowed, hasPassedOver } = await database.transaction((db) => dispatcherClaim({}, { db, ...context }, onStep));
  const mayHaveMore = admitted.length > 0 && (admitted.length === context.limit || isNarrowed);
  return { admitted, mayHaveMore, hasPassedOver };
}
