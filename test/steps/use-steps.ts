import { beforeEach } from 'vitest';
import { sql } from '../../shared/db/sql.ts';
import type { AnyWorkflow } from '../../shared/model/workflow.ts';
import { createLogger } from '../../shared/observability/log.ts';
import { trigger } from '../../shared/operations/trigger.ts';
import type { EndedRun } from '../../shared/transitions/end-runs.ts';
import { none, useWorld, type World } from '../engine/use-world.ts';
import { type ExecuteOptions, workflowNamed } from '../support/engine.ts';

export interface StepRow {
  name: string;
  kind: string;
  state: string;
  execution_id: number;
  sequence: number;
  output: unknown;
  failure_code: string | null;
  failure_name: string | null;
  failure_message: string | null;
  item_count: number;
  failed_item_count: number;
  warning_count: number;
}

export type ExecutionRow = Record<string, unknown> & { id: number; state: string; attempt: number };

/** One manifest, `job`, whose runs do what the test's behaviour says, invocation by invocation. */
export interface StepWorld extends World {
  /** Asks for a run and admits it. */
  begin(): Promise<void>;
  /** One invocation for whatever was rung. Code that runs for the first time in it, or again, notes itself in `done`. */
  invoke(options?: ExecuteOptions): Promise<EndedRun[]>;
  /** Invocations, with cycles of everybody in between, until nothing is unfinished. Gives how many invocations it took. */
  finish(options?: ExecuteOptions): Promise<number>;
  done: string[];
  /** What was logged, as parsed lines. */
  lines: Record<string, unknown>[];
  /** Further workflows of the deployment, for nesting. */
  others: AnyWorkflow[];
  /** The executions of all runs, attempts before what is nested in them. */
  executions(): Promise<ExecutionRow[]>;
  steps(): Promise<StepRow[]>;
}

export function useSteps(): StepWorld {
  const world = useWorld() as StepWorld;
  const log = createLogger('test', (line) => world.lines.push(JSON.parse(line)));
  const work = workflowNamed('work', (context, input) => world.behaviour(context, input));
  beforeEach(async () => {
    Object.assign(world, { done: [], lines: [], others: [] });
    await world.sync([{ externalId: 'job', schedule: none, maxAttempts: 3, backoff: { initialSeconds: 1, jitter: 0 } }]);
  });
  world.begin = async () => {
    await trigger(world.context, { externalId: 'job' });
    await world.dispatch();
  };
  world.invoke = (options = {}) => world.deliver([work, ...world.others], { log, ...options });
  world.finish = async (options) => {
    for (let invocations = 0; invocations < 100; ) {
      if (world.doorbell.bells.length) {
        await world.invoke(options);
        invocations++;
        continue;
      }
      const unfinished = await world.rows(sql`
        select from waybill.execution where finished_at is null union all select from waybill.work_queue where status = 'queued'`);
      if (!unfinished.length) return invocations;
      world.clock.advance(1);
      await world.manage();
      await world.dispatch();
    }
    throw new Error('100 invocations did not bring it to its end');
  };
  world.executions = () => world.rows<ExecutionRow>(sql`select * from waybill.execution order by parent_id nulls first, id`);
  world.steps = () => world.rows<StepRow>(sql`select * from waybill.execution_step order by sequence, id`);
  return world;
}
