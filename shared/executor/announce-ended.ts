import { measureRuns } from '../observability/engine-metrics.ts';
import type { Logger } from '../observability/log.ts';
import { logEndedRun } from '../observability/log-ended-run.ts';
import type { Metrics } from '../observability/metrics.ts';
import type { Doorbell } from '../queue/doorbell.ts';
import type { EndedRun } from '../transitions/end-runs.ts';

/**
 * Says that runs have ended, in the log and to whoever has something to do because of it: a finished run frees a slot; a retry or a dependent has an instant that the
 * manager must plan for. A poke that fails is logged and no more: the runs are recorded, and the next cycle looks anyway.
 */
export async function announceEnded(
  ended: EndedRun[],
  { doorbell, log, metrics }: { doorbell: Doorbell; log: Logger; metrics?: Metrics },
): Promise<void> {
  if (!ended.length) return;
  for (const run of ended) logEndedRun(run, log);
  if (metrics) measureRuns(metrics, ended);
  try {
    await Promise.all([doorbell.pokeDispatcher(), ...(ended.some(({ wakesManager }) => wakesManager) ? [doorbell.pokeManager()] : [])]);
  } catch (error) {
    log.warn('nobody could be poked, the next cycle will look', { error });
  }
}
