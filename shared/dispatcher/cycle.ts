import type { Database } from '../db/database.ts';
import type { Doorbell } from '../queue/doorbell.ts';
import type { PoolSettings } from '../settings.ts';
import { ringDoorbells } from '../transitions/ring-doorbells.ts';
import { claimQueuedWork } from './claim-queued-work.ts';

export interface DispatcherDependencies {
  database: Database;
  doorbell: Doorbell;
  pools: Record<string, PoolSettings>;
  hasTime?: () => boolean;
  batchSize?: number;
}

/**
 * The dispatcher admits queued work within capacity. Each round is one short transaction that turns entries into pending
 * executions; after its commit their bells are rung and noted as sent.
 *
 * Killed before the commit, nothing was admitted. Killed after it, the executions are pending and quiet, and the manager
 * rings them. Any number of dispatchers may run at once: they take turns at the rows of the groups they admit from.
 */
export async function dispatcherCycle({ database, doorbell, pools, hasTime = () => true, batchSize = 100 }: DispatcherDependencies) {
  let admittedCount = 0;
  let rungCount = 0;
  do {
    const admitted = await database.transaction((db) => claimQueuedWork(db, { pools, limit: batchSize }));
    admittedCount += admitted.length;
    rungCount += (await ringDoorbells(database, doorbell, pools, admitted)).length;
    if (admitted.length < batchSize) break;
  } while (hasTime());
  return { admittedCount, rungCount };
}
