import type { Logger } from '../observability/log.ts';
import type { Doorbell } from '../queue/doorbell.ts';
import type { EndedRun } from '../transitions/end-runs.ts';

/**
 * Says that runs have ended, in the log and to whoever has something to do because of it: a finished run frees a slot; a retry or a dependent has an instant that the
 * manager must plan for. A poke that fails is logged and no more: the runs are recorded, and the next cycle looks anyway.
 */
export async function announceEnded(ended: EndedRun[], { doorbell, log }: { doorbell: Doorbell; log: Logger }): Promise<void> {
  if (!ended.length) return;
  for (const run of ended) logEnd(run, log);
  try {
    await Promise.all([doorbell.pokeDispatcher(), ...(ended.some(({ wakesManager }) => wakesManager) ? [doorbell.pokeManager()] : [])]);
  } catch (error) {
    log.warn('nobody could be poked, the next cycle will look', { error });
  }
}

function logEnd(
  { executionId, runId, externalId, workflowName, state, attempt, runningMs, failureCode, failureMessage, next }: EndedRun,
  log: Logger,
): void {
  log[state === 'failed' ? 'warn' : 'info']('run ended', {
    executionId: String(executionId),
    runId: String(runId),
    manifest: externalId,
    workflow: workflowName,
    state,
    attempt,
    runningMs,
    failureCode,
    failureMessage,
    next,
  });
}
