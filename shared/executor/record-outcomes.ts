import type { Database } from '../db/database.ts';
import { isRowRefused } from '../db/postgres-errors.ts';
import { messageOf } from '../errors.ts';
import { toStorableText } from '../model/json.ts';
import { type EndedRun, endRuns, type Outcome } from '../transitions/end-runs.ts';
import { findRecordedOutcomes } from './find-recorded-outcomes.ts';
import { type ReachDatabase, reachDatabase } from './reach-database.ts';

/**
 * Records outcomes as one set, on three levels: over the pooled connection; when that is lost or silent, over a fresh one, a few times; when the database stays away, by the
 * lease, which runs out, so that recovery ends the runs. Only the third one raises.
 *
 * Repeating is safe: what was committed without our hearing of it no longer meets the condition, is recognized by its token and outcome, and counts as
 * recorded now. An outcome that is missing from the answer was refused, because somebody else has ended the run.
 */
export function recordOutcomes(outcomes: Outcome[], dependencies: ReachDatabase): Promise<EndedRun[]> {
  return reachDatabase('outcomes were recorded', (database) => record(database, outcomes), dependencies);
}

/** An outcome that Postgres cannot store must not take the others of its set along: alone, it becomes a failure that says so. */
async function record(database: Database, outcomes: Outcome[]): Promise<EndedRun[]> {
  try {
    return await commit(database, outcomes);
  } catch (error) {
    if (!isRowRefused(error)) throw error;
    const [outcome, ...others] = outcomes;
    if (!others.length) return commit(database, [refuse(outcome!, error)]);
    const recorded: EndedRun[] = [];
    for (const one of outcomes) recorded.push(...(await record(database, [one])));
    return recorded;
  }
}

/** Killed before the commit, nothing is recorded and the lease decides; killed after it, only pokes are missing, and the next cycle looks anyway. */
function commit(database: Database, outcomes: Outcome[]): Promise<EndedRun[]> {
  return database.transaction(async (db) => {
    const ended = await endRuns(db, outcomes);
    const known = new Set(ended.map(({ executionId }) => executionId));
    return [
      ...ended,
      ...(await findRecordedOutcomes(
        db,
        outcomes.filter(({ executionId }) => !known.has(executionId)),
      )),
    ];
  });
}

function refuse({ executionId, leaseToken, runningMs }: Outcome, error: unknown): Outcome {
  const message = toStorableText(`the outcome cannot be stored: ${messageOf(error)}`, 4_000);
  return { executionId, leaseToken, runningMs, state: 'failed', failure: { code: 'invalid_output', message, isFinal: true } };
}
