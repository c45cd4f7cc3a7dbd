import { randomUUID } from 'node:crypto';
import { dispatcherCycle } from '../../shared/dispatcher/cycle.ts';
import { runExecutions } from '../../shared/executor/run.ts';
import { managerCycle } from '../../shared/manager/cycle.ts';
import type { ExecutionId } from '../../shared/model/ids.ts';
import type { AnyWorkflow } from '../../shared/model/workflow.ts';
import { createLogger } from '../../shared/observability/log.ts';
import type { BenchDatabase } from './bench-server.ts';
import { type RecordedBells, recordBells } from './record-bells.ts';

const silent = createLogger('bench', () => {});
const anyInput = { '~standard': { version: 1 as const, vendor: 'bench', validate: (value: unknown) => ({ value }) } };
/** Does nothing: what is left is the engine. */
const work: AnyWorkflow = { name: 'work', pool: 'default', input: anyInput, run: () => null };

/** As many executions are live at most, whatever the batch size, so that claims are of the same size. */
const MOST_LIVE = 1_000;

/** The real processes of the engine, one call each, over bells that are kept. */
export interface RunningEngine {
  bells: RecordedBells;
  manage(): ReturnType<typeof managerCycle>;
  dispatch(): ReturnType<typeof dispatcherCycle>;
  /** One invocation of an executor; gives how many runs it recorded. */
  execute(executionIds: ExecutionId[]): Promise<number>;
}

export function runEngine({ database, url }: BenchDatabase, { batchSize }: { batchSize: number }): RunningEngine {
  const bells = recordBells();
  const pools = { default: { queueUrl: 'none', concurrency: MOST_LIVE / 2 / batchSize, batchSize } };
  const executor = { database, databaseOptions: { url }, doorbell: bells, workflows: new Map([[work.name, work]]), log: silent };
  return {
    bells,
    manage: () => managerCycle({ database, doorbell: bells, pools }),
    dispatch: () => dispatcherCycle({ database, doorbell: bells, pools }),
    async execute(executionIds) {
      const invocation = { executionIds, requestId: randomUUID(), logStream: 'bench', remainingMs: 60_000 };
      const { ended } = await runExecutions(invocation, executor);
      return ended.filter(({ state }) => state === 'completed').length;
    },
  };
}
