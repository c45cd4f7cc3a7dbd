import { randomUUID } from 'node:crypto';
import { WaybillError } from '../../shared/errors.ts';
import { type ExecutorDependencies, runExecutions } from '../../shared/executor/run.ts';
import type { ExecutionId } from '../../shared/model/ids.ts';
import { readExecution } from '../../shared/operations/read-execution.ts';
import type { HeldLeases } from './hold-leases.ts';

export interface RunExecution extends ExecutorDependencies {
  leases: HeldLeases;
  runLimitMs: number;
}

/** What a Lambda function has at most. No run gets that far: its limit here is shorter. */
const INVOCATION_MS = 900_000;

/** Waits for the run no longer, and tells it to stop. It may take its grace for that, which is what remains to be awaited. */
export class HangingRunError extends WaybillError {
  readonly stopped: Promise<unknown>;
  constructor(message: string, stopped: Promise<unknown>) {
    super('run_hangs', message);
    this.stopped = stopped;
  }
}

/** One invocation of an executor, for one bell. Gives the bells that should ring again. */
export async function runExecution(executionId: ExecutionId, { leases, runLimitMs, ...executor }: RunExecution): Promise<ExecutionId[]> {
  const invocation = { executionIds: [executionId], requestId: randomUUID(), logStream: 'test-kit', remainingMs: INVOCATION_MS };
  const running = runExecutions(invocation, { ...executor, keepLeases: leases.keepLeases });
  const result = await within(runLimitMs, running);
  if (result) return result.postponed;
  leases.giveUp(executionId);
  throw new HangingRunError(await describeHanging(executionId, { ...executor, runLimitMs }), running);
}

async function within<Result>(limitMs: number, work: Promise<Result>): Promise<Result | undefined> {
  const { promise: isOver, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => resolve(undefined), limitMs);
  try {
    return await Promise.race([work, isOver]);
  } finally {
    clearTimeout(timer);
  }
}

async function describeHanging(
  executionId: ExecutionId,
  { database, runLimitMs }: Pick<RunExecution, 'database' | 'runLimitMs'>,
): Promise<string> {
  const run = await readExecution(database, String(executionId));
  const whose = run?.manifest ? `of manifest '${run.manifest}', workflow '${run.workflow}'` : `of workflow '${run?.workflow}'`;
  return (
    `execution ${executionId} ${whose}, attempt ${run?.attempt}, has not ended after ${runLimitMs} ms of real time: ` +
    'the clock of the kit stands still while it waits, so wait with ctx.sleep, put something quick in the place of what it waits for, or raise runLimitMs'
  );
}
