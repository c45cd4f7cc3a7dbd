import middy from '@middy/core';
import type { SQSEvent } from 'aws-lambda';
import { MOST_ROUNDS, managerCycle } from '../../shared/manager/cycle.ts';
import { measureCapacityInUse } from '../../shared/manager/measure-capacity-in-use.ts';
import { measureCapacity, measureCycle, measureRuns } from '../../shared/observability/engine-metrics.ts';
import { logEndedRun } from '../../shared/observability/log-ended-run.ts';
import { poolSettings } from '../../shared/settings.ts';
import { type DatabaseContext, withDatabase } from '../middleware/database.ts';
import { type DoorbellContext, withDoorbell } from '../middleware/doorbell.ts';

/** What a round may take at the most; no further one is begun when less time than this is left. */
const ROUND_MS = 10_000;

/**
 * Invoked by the heartbeat, and by the wake queue, where a batch of pokes is one cycle. A poke that finds another manager in
 * charge rings again a second later, because that manager may already have looked; the heartbeat comes back by itself.
 */
async function manage(
  event: SQSEvent | { source: string },
  { database, doorbell, log, metrics, getRemainingTimeInMillis }: DatabaseContext & DoorbellContext,
) {
  const startedAt = performance.now();
  const cycle = await managerCycle({ database, doorbell, pools: poolSettings(), hasTime: () => getRemainingTimeInMillis() > ROUND_MS });
  if (!cycle.isLeader && 'Records' in event) await doorbell.pokeManager({ delaySeconds: 1 });
  const { recovered, lateness: _, ...figures } = cycle;
  for (const run of recovered) logEndedRun(run, log);
  log.info('cycle ended', figures);
  measureCycle(metrics, cycle, performance.now() - startedAt);
  measureRuns(metrics, recovered);
  if (cycle.isLeader) measureCapacity(metrics, await measureCapacityInUse(database));
  return { batchItemFailures: [] };
}

export const handler = middy(manage)
  .use(withDoorbell('manager'))
  .use(withDatabase({ maxConnections: MOST_ROUNDS }));
