import type { WorkflowContext } from '../model/workflow.ts';
import type { ClaimedExecution } from './claim-executions.ts';
import { createDormant } from './create-dormant.ts';
import { createReports } from './create-reports.ts';
import { createSteps } from './steps/create-steps.ts';
import type { Body, RunParts } from './steps/run-parts.ts';

/** What a workflow gets to see of its execution: of the one that was claimed, or of its own that is nested in it. */
export function createContext(execution: ClaimedExecution, parts: RunParts, body: Body): WorkflowContext {
  const { signal, leaseToken } = parts;
  const manifest = execution.externalId ?? undefined;
  const { log } = body;
  return {
    ...createSteps(parts, body),
    ...createReports(parts, body),
    dormant: createDormant({ ...parts, log, capability: { executionId: String(execution.id), leaseToken }, around: body.path }),
    signal,
    idempotencyKey: `waybill-run-${execution.runId}${body.path && `/${body.path}`}`,
    occurrenceAt: execution.occurrenceAt ?? undefined,
    attempt: execution.attempt,
    previousSuccess: execution.lastSuccessStartedAt ? { startedAt: execution.lastSuccessStartedAt } : undefined,
    execution: { id: String(body.executionId), runId: String(execution.runId), manifest },
    log,
  };
}
