import type { EndedRun, Outcome } from '../transitions/end-runs.ts';
import { announceEnded } from './announce-ended.ts';
import type { ClaimedExecution } from './claim-executions.ts';
import { collectOutcomes } from './collect-outcomes.ts';
import { describeThrown } from './describe-thrown.ts';
import { handBackUnknown } from './hand-back-unknown.ts';
import { type Ended, invokeWorkflow } from './invoke-workflow.ts';
import { keepLeases } from './keep-leases.ts';
import { allowedMs, type InvocationLimits, startLimits } from './limit-run.ts';
import { recordOutcomes } from './record-outcomes.ts';
import { createRedact } from './redact.ts';
import type { Progress } from './renew-leases.ts';
import type { ExecutorDependencies } from './run.ts';
import { isAbortedBy, reasons } from './run-aborted.ts';
import { suspendRun } from './suspend-run.ts';
import type { ExecutorTimings } from './timings.ts';

export interface RunClaimed extends ExecutorDependencies {
  timings: ExecutorTimings;
  limits: InvocationLimits;
  leaseToken: string;
}

/** Runs what was claimed, side by side, under one lease token, and gives what was recorded. Never raises: what was started is not to be started again. */
export async function runClaimed(claimed: ClaimedExecution[], dependencies: RunClaimed): Promise<EndedRun[]> {
  const { databaseOptions, workflows, log, timings, limits, leaseToken } = dependencies;
  const unknown = claimed.filter(
    ({ workflowName, unknownForSeconds, isCancelRequested }) =>
      !workflows.has(workflowName) && (unknownForSeconds ?? 0) < timings.rolloutSeconds && !isCancelRequested,
  );
  const handingBack = handBack(unknown, dependencies);
  const runs = claimed.filter((execution) => !unknown.includes(execution));
  const aborts = new Map(runs.map(({ id }) => [id, new AbortController()]));
  const leases = (dependencies.keepLeases ?? keepLeases)({
    databaseUrl: databaseOptions.url,
    leaseToken,
    leases: runs.map((run) => ({ id: run.id, renewUntilAt: new Date(Date.now() + allowedMs({ ...run, ...limits }) + timings.overtimeMs) })),
    timings,
    // One that has ended meanwhile is not in the map any more: a lease that was over before its renewal is nothing to tell.
    onLost: (id) => aborts.get(id)?.abort(reasons.leaseLost()),
    onCancelRequested: (id) => aborts.get(id)?.abort(reasons.cancelled()),
    log,
  });
  const redactNow = () => createRedact([databaseOptions.url]);
  const reach = toReach(timings);
  const ended: EndedRun[] = [];
  const announced: Promise<void>[] = [];
  const outcomes = collectOutcomes(timings.groupCommitMs, async (batch) => {
    const recorded = await recordOrLeave(batch, dependencies);
    ended.push(...recorded);
    announced.push(announceEnded(recorded, dependencies));
    // Only now: while the database is away the renewal may still get through, and keeps recovery from failing a run that has ended well.
    for (const { executionId } of batch) leases.release(executionId);
  });

  async function run(execution: ClaimedExecution): Promise<void> {
    const { id } = execution;
    const abort = aborts.get(id)!;
    const { signal } = abort;
    if (execution.isCancelRequested) abort.abort(reasons.cancelled());
    const timer = startLimits({ ...execution, ...limits }, abort);
    const startedAt = performance.now();
    const workflow = workflows.get(execution.workflowName);
    const onLost = () => aborts.get(id)?.abort(reasons.leaseLost());
    let progress: Progress | undefined;
    const reportProgress = (latest: Progress) => {
      progress = latest;
      leases.reportProgress(id, latest);
    };
    const invoke = {
      ...dependencies,
      ...limits,
      ...reach,
      logFlushMs: timings.logFlushMs,
      signal,
      onLost,
      reportProgress,
      createRedact: redactNow,
    };
    const invoked = workflow ? await invokeWorkflow(workflow, execution, invoke) : failUnknown(execution);
    timer.stop();
    aborts.delete(id);
    const ran = { executionId: id, planId: execution.planId, leaseToken, runningMs: performance.now() - startedAt, progress };
    if (isAbortedBy(signal, 'lease_lost') && !('output' in invoked)) {
      leases.release(id);
      log.warn('the lease was lost, the run is left to whoever ended it', { executionId: String(id) });
    } else if (invoked.state !== 'suspended') outcomes.add({ ...ran, ...invoked });
    else if ((await suspendRun(ran, invoked.suspension, { ...dependencies, ...reach })) === 'cancel_requested')
      outcomes.add({ ...ran, state: 'cancelled', failure: describeThrown(reasons.cancelled(), redactNow()) });
    else leases.release(id);
  }

  await Promise.all(runs.map(run));
  await outcomes.settled();
  leases.stop();
  await Promise.all([handingBack, ...announced]);
  return ended;
}

const toReach = ({ pooledAttemptMs, recordingRetryMs }: ExecutorTimings) => ({ pooledAttemptMs, retryMs: recordingRetryMs });

/** The third level of recording is the lease: it is not renewed any more, runs out, and recovery ends the runs. */
async function recordOrLeave(batch: Outcome[], { database, databaseOptions, timings, log }: RunClaimed): Promise<EndedRun[]> {
  try {
    const recorded = await recordOutcomes(batch, { database, databaseOptions, ...toReach(timings), log });
    const known = new Set(recorded.map(({ executionId }) => executionId));
    const refused = batch.filter(({ executionId }) => !known.has(executionId)).map(({ executionId }) => String(executionId));
    if (refused.length) log.warn('outcomes were refused: somebody else has ended these runs', { executionIds: refused });
    return recorded;
  } catch (error) {
    const executionIds = batch.map(({ executionId }) => String(executionId));
    log.error('outcomes could not be recorded, recovery will end these runs', { executionIds, error });
    return [];
  }
}

/** When this fails too, the lease runs out and recovery takes the runs for lost. */
async function handBack(unknown: ClaimedExecution[], { database, leaseToken, log }: RunClaimed): Promise<void> {
  if (!unknown.length) return;
  const fields = {
    executionIds: unknown.map(({ id }) => String(id)),
    workflows: [...new Set(unknown.map(({ workflowName }) => workflowName))],
  };
  try {
    await handBackUnknown(database, { ids: unknown.map(({ id }) => id), leaseToken });
    log.warn('workflows are not known here, the runs are handed back in case a rollout is under way', fields);
  } catch (error) {
    log.error('runs of unknown workflows could not be handed back', { ...fields, error });
  }
}

function failUnknown({ workflowName }: ClaimedExecution): Ended {
  const message = `workflow '${workflowName}' is not part of the deployed app: add it to the app's workflows and deploy, then retry`;
  return { state: 'failed', failure: { code: 'unknown_workflow', message, isFinal: true } };
}
