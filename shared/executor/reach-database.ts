import { setTimeout as wait } from 'node:timers/promises';
import { type Database, type DatabaseOptions, openDatabase } from '../db/database.ts';
import { isConnectionLost, isTransactionTooLong } from '../db/postgres-errors.ts';
import type { Logger } from '../observability/log.ts';
import { within } from './within.ts';

export interface ReachDatabase {
  database: Database;
  databaseOptions: DatabaseOptions;
  /** How long the pooled connection may take to answer. */
  pooledAttemptMs: number;
  /** The pauses before each further try. */
  retryMs: readonly number[];
  log: Logger;
}

/**
 * Does work that must be safe to repeat over the pooled connection; when that is lost or has fallen silent, over a fresh one, a few times. Raises when the database stays away, or has
 * something against the work itself. `what` completes the sentence "… while {what}".
 */
export async function reachDatabase<Result>(
  what: string,
  work: (database: Database) => Promise<Result>,
  { database, databaseOptions, pooledAttemptMs, retryMs, log }: ReachDatabase,
): Promise<Result> {
  try {
    return await within(pooledAttemptMs, work(database));
  } catch (error) {
    if (!isConnectionLost(error)) throw error;
    log.warn(`the connection was lost while ${what}, trying again on a fresh one`, { error });
  }
  const fresh = openDatabase({ ...databaseOptions, maxConnections: 1 });
  try {
    for (let attempt = 0; ; attempt++) {
      try {
        return await work(fresh);
      } catch (error) {
        const pauseMs = retryMs[attempt];
        // What a fresh connection cannot do in the longest time that a transaction may take is left to the lease: each further try could take as long.
        if (pauseMs === undefined || !isConnectionLost(error) || isTransactionTooLong(error)) throw error;
        log.warn(`the database went away while ${what}, trying again`, { error, attempt: attempt + 1 });
        await wait(pauseMs);
      }
    }
  } finally {
    fresh.close().catch(() => {});
  }
}
