import { beforeEach, vi } from 'vitest';
import { sql } from '../../shared/db/sql.ts';
import type { AnyWorkflow } from '../../shared/model/workflow.ts';
import { createLogger } from '../../shared/observability/log.ts';
import { trigger } from '../../shared/operations/trigger.ts';
import { type Declared, none, useWorld, type World } from '../engine/use-world.ts';

export interface RunOfBuiltIn {
  state: string;
  attempt: number;
  output: unknown;
  failure_code: string | null;
  failure_message: string | null;
  /** What is to happen next: 'retry', 'dead_letter', 'sleep' or 'nothing'. */
  next: string;
}

export interface BuiltIn extends World {
  /** Everything that was logged, as text. */
  logged: string[];
  /** Runs a manifest of the workflow with this input, as far as one invocation goes, in a world that knows nothing of earlier ones. */
  run(input: unknown, declared?: Partial<Declared> & { workflows?: AnyWorkflow[] }): Promise<RunOfBuiltIn>;
  /** One more look of everybody, for what waits, and the newest execution after it. */
  goOn(workflows?: AnyWorkflow[]): Promise<RunOfBuiltIn>;
  /** Everything that the database has kept of all runs, as text. */
  kept(): Promise<string>;
}

/** The real engine with a built-in workflow deployed. */
export function useBuiltIn(workflow: AnyWorkflow): BuiltIn {
  const world = useWorld() as BuiltIn;
  const log = createLogger('test', (line) => world.logged.push(line));
  beforeEach(() => {
    world.logged = [];
    vi.unstubAllEnvs();
  });

  async function newest(): Promise<RunOfBuiltIn> {
    const [row] = await world.rows<RunOfBuiltIn>(sql`
      select e.state, e.attempt, e.output, e.failure_code, e.failure_message,
             case when e.state = 'waiting' then 'sleep'
                  when exists (select from waybill.work_queue where status = 'queued' and lane = 'retry') then 'retry'
                  when exists (select from waybill.dead_letter where status = 'awaiting_intervention') then 'dead_letter' else 'nothing' end as next
        from waybill.execution e order by e.id desc limit 1`);
    if (!row) throw new Error('nothing was run');
    return row;
  }

  world.run = async (input, { workflows = [workflow], ...declared } = {}) => {
    await world.empty();
    await world.sync([
      { externalId: 'call', workflow: workflow.name, schedule: none, input, maxAttempts: 3, backoff: { jitter: 0 }, ...declared },
    ]);
    await trigger(world.context, { externalId: 'call' });
    return world.goOn(workflows);
  };
  world.goOn = async (workflows = [workflow]) => {
    await world.manage();
    await world.dispatch();
    await world.deliver(workflows, { log });
    return newest();
  };
  world.kept = async () => {
    const rows = await world.rows<{ text: string }>(sql`
      select e::text as text from waybill.execution e union all select s::text from waybill.execution_step s
       union all select d::text from waybill.dead_letter d union all select l::text from waybill.execution_log l`);
    return rows.map(({ text }) => text).join('\n');
  };
  return world;
}
