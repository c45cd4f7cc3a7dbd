import { randomUUID } from 'node:crypto';
import type { Database } from '../db/database.ts';
import type { ExecutionId } from '../model/ids.ts';
import type { AnyWorkflow } from '../model/workflow.ts';
import type { Logger } from '../observability/log.ts';
import type { Doorbell } from '../queue/doorbell.ts';
import type { EndedRun, Outcome } from '../transitions/end-runs.ts';
import { type ClaimedExecution, claimExecutions } from './claim-executions.ts';
import { collectOutcomes } from './collect-outcomes.ts';
import { handBackUnknown } from './hand-back.ts';
import { invokeWorkflow, RunAborted } from './invoke-workflow.ts';
import { keepLeases } from './keep-leases.ts';
import { recordOutcomes } from './record-outcomes.ts';

export const LEASE_SECONDS = 45;
/** How long an unknown workflow is waited for: a rollout may be under way. */
const ROLLOUT_MS = 10 * 60_000;
/** What an invocation keeps for recording before its function's own deadline. */
const RECORDING_MS = 5_000;

export interface ExecutorDependencies {
  database: Database;
  doorbell: Doorbell;
  workflows: ReadonlyMap<string, AnyWorkflow>;
  log: Logger;
}

export interface Invocation {
  executionIds: ExecutionId[];
  requestId: string;
  logStream: string;
  remainingMs: number;
}

/**
 * Runs what the bells of one invocation point at: claim as a set, run side by side, record what finishes together as a set,
 * then poke whoever has something to do because of it.
 *
 * Killed before the claim commits, the message comes back. Killed after it, the lease runs out and recovery ends the attempt.
 * Killed after an outcome's commit, only pokes are missing, and the next cycle looks anyway.
 * Raises only when nothing was claimed, so the messages may be redelivered; a run that was started is never redelivered.
 */
export async function runExecutions(
  { executionIds, requestId, logStream, remainingMs }: Invocation,
  { database, doorbell, workflows, log }: ExecutorDependencies,
): Promise<EndedRun[]> {
  const leaseToken = randomUUID();
  const claimed = await claimExecutions(database, { ids: executionIds, leaseToken, leaseSeconds: LEASE_SECONDS, requestId, logStream });
  const aborts = new Map(claimed.map(({ id }) => [id, new AbortController()]));
  const leases = keepLeases({ database, leaseToken, leaseSeconds: LEASE_SECONDS, aborts, log });
  const ended: EndedRun[] = [];
  const outcomes = collectOutcomes(async (batch: Outcome[]) => {
    try {
      const recorded = await recordOutcomes(database, batch, log);
      ended.push(...recorded);
      if (recorded.length < batch.length)
        log.warn('an outcome was refused: its lease was lost or it is already recorded', {
          executionIds: batch.map((one) => one.executionId),
        });
    } catch (error) {
      log.error('outcomes could not be recorded, recovery will end these runs', {
        executionIds: batch.map((one) => one.executionId),
        error,
      });
    }
  });

  async function runOne(execution: ClaimedExecution): Promise<void> {
    const workflow = workflows.get(execution.workflowName);
    if (!workflow && Date.now() - (execution.unknownSinceAt?.getTime() ?? Date.now()) < ROLLOUT_MS) {
      log.warn('the workflow is not known here, handing the run back', {
        executionId: String(execution.id),
        workflow: execution.workflowName,
      });
      return handBackUnknown(database, { id: execution.id, leaseToken });
    }
    const abort = aborts.get(execution.id)!;
    const timers = startLimits(execution, abort, remainingMs);
    const startedAt = performance.now();
    const invoked = workflow ? await invokeWorkflow(workflow, execution, abort.signal, log) : unknownWorkflow(execution);
    for (const timer of timers) clearTimeout(timer);
    aborts.delete(execution.id);
    outcomes.add({ executionId: execution.id, leaseToken, runningMs: performance.now() - startedAt, ...invoked }, aborts.size === 0);
  }

  try {
    await Promise.all(claimed.map(runOne));
    await outcomes.settled();
  } finally {
    leases.stop();
  }
  await poke(ended, doorbell);
  for (const run of ended) logEnd(run, log);
  return ended;
}

function startLimits(execution: ClaimedExecution, abort: AbortController, remainingMs: number): NodeJS.Timeout[] {
  const limit = (ms: number, reason: RunAborted) => setTimeout(() => abort.abort(reason), Math.max(ms, 0));
  const deadline = limit(
    remainingMs - RECORDING_MS,
    new RunAborted('deadline', "the function was about to reach its own timeout: raise the pool's timeout or split the work"),
  );
  if (!execution.timeoutSeconds) return [deadline];
  const { timeoutSeconds } = execution;
  return [deadline, limit(timeoutSeconds * 1000, new RunAborted('timeout', `the run took longer than its timeout of ${timeoutSeconds} s`))];
}

function unknownWorkflow({ workflowName }: ClaimedExecution) {
  const message = `workflow '${workflowName}' is not part of the deployed app: add it to the app's workflows and deploy, then retry`;
  return { state: 'failed' as const, failure: { code: 'unknown_workflow', message, isFinal: true } };
}

/** A finished run frees a slot; a retry has an instant that the manager must plan for. */
async function poke(ended: EndedRun[], doorbell: Doorbell): Promise<void> {
  if (!ended.length) return;
  await Promise.all([doorbell.pokeDispatcher(), ...(ended.some(({ next }) => next === 'retry') ? [doorbell.pokeManager()] : [])]);
}

function logEnd(run: EndedRun, log: Logger): void {
  const {
    executionId,
    runId,
    externalId: manifest,
    workflowName: workflow,
    state,
    attempt,
    runningMs,
    failureCode,
    failureMessage,
    next,
  } = run;
  const fields = {
    executionId: String(executionId),
    runId: String(runId),
    manifest,
    workflow,
    state,
    attempt,
    runningMs,
    failureCode,
    failureMessage,
    next,
  };
  if (state === 'failed') log.warn('run ended', fields);
  else log.info('run ended', fields);
}
