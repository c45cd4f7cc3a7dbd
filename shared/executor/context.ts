import type { WorkflowContext } from '../model/workflow.ts';
import type { Logger } from '../observability/log.ts';
import type { ClaimedExecution } from './claim-executions.ts';

/** What the workflow gets to see of its execution. */
export function createContext(execution: ClaimedExecution, signal: AbortSignal, log: Logger): WorkflowContext {
  const ids = { executionId: String(execution.id), manifest: execution.externalId ?? undefined };
  return {
    signal,
    idempotencyKey: `waybill-run-${execution.runId}`,
    occurrenceAt: execution.occurrenceAt ?? undefined,
    attempt: execution.attempt,
    previousSuccess: execution.lastSuccessStartedAt ? { startedAt: execution.lastSuccessStartedAt } : undefined,
    execution: { id: String(execution.id), runId: String(execution.runId), manifest: execution.externalId ?? undefined },
    log: {
      debug: (message, fields) => log.debug(message, { ...ids, ...fields }),
      info: (message, fields) => log.info(message, { ...ids, ...fields }),
      warn: (message, fields) => log.warn(message, { ...ids, ...fields }),
      error: (message, fields) => log.error(message, { ...ids, ...fields }),
    },
  };
}
