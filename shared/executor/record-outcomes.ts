import { setTimeout as wait } from 'node:timers/promises';
import type { Database } from '../db/database.ts';
import { isConnectionLost } from '../db/postgres-errors.ts';
import type { Logger } from '../observability/log.ts';
import { type EndedRun, endRuns, type Outcome } from '../transitions/end-runs.ts';

const WAITS_MS = [50, 250, 1_000, 3_000];

/**
 * Records outcomes as one set. A lost connection is tried again on a fresh one: repeating is safe, because an outcome
 * that was committed without our hearing of it no longer meets the condition. When the database stays away the lease runs
 * out, and recovery ends the run.
 */
export async function recordOutcomes(database: Database, outcomes: Outcome[], log: Logger): Promise<EndedRun[]> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await database.transaction((db) => endRuns(db, outcomes));
    } catch (error) {
      const pause = WAITS_MS[attempt];
      if (pause === undefined || !isConnectionLost(error)) throw error;
      log.warn('the database went away while outcomes were recorded, trying again', { error, attempt: attempt + 1 });
      await wait(pause);
    }
  }
}
