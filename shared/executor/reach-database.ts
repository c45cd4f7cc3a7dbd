import { setTimeout as wait } from 'node:timers/promises';
import { type Database, type DatabaseOptions, openDatabase } from '../db/database.ts';
import { isConnectionLost } from '../db/postgres-errors.ts';
import type { Logger } from '../observability/log.ts';

export interface ReachDatabase {
  database: Database;
  databaseOptions: DatabaseOptions;
  /** The pauses before each further try. */
  retryMs: readonly number[];
  log: Logger;
}

/**
 * Does work that must be safe to repeat over the pooled connection; when that is lost, over a fresh one, a few times. Raises when the database stays away, or has
 * something against the work itself. `what` completes the sentence "… while {what}".
 */
export async function reachDatabase<Result>(
  what: string,
  work: (database: Database) => Promise<Result>,
  { database, databaseOptions, retryMs, log }: ReachDatabase,
): Promise<Result> {
  try {
    return await work(database);
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
        if (pauseMs === undefined || !isConnectionLost(error)) throw error;
        log.warn(`the database went away while ${what}, trying again`, { error, attempt: attempt + 1 });
        await wait(pauseMs);
      }
    }
  } finally {
    fresh.close().catch(() => {});
  }
}
