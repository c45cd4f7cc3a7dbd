import { randomUUID } from 'node:crypto';
import type { Database, DatabaseOptions } from '../db/database.ts';
import type { ExecutionId } from '../model/ids.ts';
import type { AnyWorkflow } from '../model/workflow.ts';
import type { Logger } from '../observability/log.ts';
import type { Metrics } from '../observability/metrics.ts';
import type { Doorbell } from '../queue/doorbell.ts';
import type { EndedRun } from '../transitions/end-runs.ts';
import { claimExecutions } from './claim-executions.ts';
import type { KeepLeases, LeaseKeeper } from './keep-leases.ts';
import { limitInvocation } from './limit-run.ts';
import { redactLog } from './redact-log.ts';
import { runClaimed } from './run-claimed.ts';
import { defaultTimings, type ExecutorTimings } from './timings.ts';

export interface ExecutorDependencies {
  database: Database;
  /** How to reach the same database over connections beside the pool's: for renewals, and for outcomes when the pool fails. */
  databaseOptions: DatabaseOptions;
  doorbell: Doorbell;
  /** Where the bells of this pool are heard: a run that goes on in another invocation is rung there. Without it the manager rings, half a minute later. */
  workQueueUrl?: string;
  workflows: ReadonlyMap<string, AnyWorkflow>;
  log: Logger;
  metrics?: Metrics;
  timings?: Partial<ExecutorTimings>;
  /** Who keeps the leases of what runs; a thread that renews them, if not said. Under the clock of the test kit, which stands still meanwhile, there is nothing to renew. */
  keepLeases?: (options: KeepLeases) => LeaseKeeper;
}

export interface Invocation {
  executionIds: ExecutionId[];
  requestId: string;
  logStream: string;
  remainingMs: number;
}

export interface InvocationResult {
  ended: EndedRun[];
  /** What may be started, but not beside the run that this invocation took: its bells should ring again. */
  postponed: ExecutionId[];
}

/**
 * Runs what the bells of one invocation point at: claim as a set, run side by side, record what finishes together as a set, then poke whoever has something to do
 * because of it.
 *
 * Killed before the claim commits, the message comes back. Killed after it, the lease runs out and recovery ends the attempt. Killed after an outcome's commit,
 * only pokes are missing, and the next cycle looks anyway.
 * Raises only when the claim failed, so that the messages may be redelivered; a run that was started is never redelivered.
 */
export async function runExecutions(invocation: Invocation, dependencies: ExecutorDependencies): Promise<InvocationResult> {
  const { executionIds: ids, requestId, logStream, remainingMs } = invocation;
  const timings = { ...defaultTimings, ...dependencies.timings };
  const limits = limitInvocation(remainingMs, timings);
  const leaseToken = randomUUID();
  const { leaseSeconds } = timings;
  const { claimed, postponed } = await claimExecutions(dependencies.database, {
    ids,
    leaseToken,
    leaseSeconds,
    requestId,
    logStream,
    workflowNames: [...dependencies.workflows.keys()],
  });
  const log = redactLog(dependencies.log, [dependencies.databaseOptions.url]);
  const ended = claimed.length ? await runClaimed(claimed, { ...dependencies, log, timings, limits, leaseToken }) : [];
  return { ended, postponed };
}
