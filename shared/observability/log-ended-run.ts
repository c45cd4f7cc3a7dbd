import type { Logger } from './log.ts';

export interface EndedRunLine {
  executionId: number;
  runId: number;
  externalId: string | null;
  workflowName: string | null;
  state: string;
  attempt: number;
  runningMs: number;
  failureCode: string | null;
  failureMessage: string | null;
  next: string | null;
}

/** The line by which a run can be found: whoever ended it, an executor or recovery, says it in the same words. */
export function logEndedRun(run: EndedRunLine, log: Logger): void {
  const { executionId, runId, externalId, workflowName, state, attempt, runningMs, failureCode, failureMessage, next } = run;
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
