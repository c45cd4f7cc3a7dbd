import { beforeEach } from 'vitest';
import { sql } from '../../shared/db/sql.ts';
import { trigger } from '../../shared/operations/trigger.ts';
import { fail, START, useWorld, type World } from '../engine/use-world.ts';

export interface PlannedStep {
  name: string;
  group?: string;
  workflow?: string;
  pool?: string;
  input?: unknown;
  continueOnFailure?: boolean;
  maxAttempts?: number;
  timeoutSeconds?: number;
  isEnabled?: boolean;
}

export interface PlanRow {
  id: number;
  run_id: number;
  state: string;
  attempt: number;
  origin: string;
  occurrence_at: Date | null;
  current_group_index: number;
  group_count: number;
  failure_code: string | null;
  failure_message: string | null;
  failure_step: string | null;
  cancel_requested_at: Date | null;
  started_at: Date;
  finished_at: Date | null;
}

export interface StepRow {
  id: number;
  parent_id: number;
  run_id: number;
  step_name: string;
  group_index: number;
  position: number;
  state: string;
  attempt: number;
  max_attempts: number;
  input: unknown;
  output: unknown;
  work_queue_id: number | null;
  failure_code: string | null;
  failure_message: string | null;
  started_at: Date | null;
  finished_at: Date | null;
}

/** The columns of a manifest that runs after others, and of one that runs every minute. */
export const dependent = { schedule_type: 'dependent', dependency_mode: 'all' };
export const everyMinute = {
  schedule_type: 'interval',
  interval_seconds: 60,
  anchor: 'occurrence',
  next_occurrence_at: new Date(START),
  next_due_at: new Date(START),
};

/** A world with plans, whose steps run `work` with their own name as input, and do what the test says for that name. */
export interface PlanWorld extends World {
  /** What a step does, by its name; one that is not named succeeds. */
  acts: Record<string, World['behaviour']>;
  /** The names of the steps that ran, in the order in which they began. */
  began: string[];
  /** Declares a plan, or declares it anew. Columns are those of its manifest. */
  plan(externalId: string, groups: (string | PlannedStep)[][], columns?: Record<string, unknown>): Promise<void>;
  /** Lets one run after the other. */
  depend(childId: string, parentId: string): Promise<void>;
  /** Asks for a run of the plan and starts it. */
  begin(externalId?: string): Promise<void>;
  /** The executions of a plan in the order of their start. */
  plans(externalId?: string): Promise<PlanRow[]>;
  /** The latest of them. */
  latest(externalId?: string): Promise<PlanRow>;
  /** The steps of the latest execution, all attempts, in the order of the plan. */
  steps(externalId?: string): Promise<StepRow[]>;
  /** The state of each step's last attempt, by name. */
  states(externalId?: string): Promise<Record<string, string>>;
  /** The names of the steps in the queue, in its order. */
  queued(): Promise<string[]>;
}

export function usePlans(): PlanWorld {
  const world = useWorld() as PlanWorld;
  beforeEach(() => {
    Object.assign(world, { acts: {}, began: [] });
    world.behaviour = (context, input) => {
      const { step } = input as { step: string };
      world.began.push(step);
      return (world.acts[step] ?? (() => ({ did: step })))(context, input);
    };
  });

  async function groupNamed(name: string): Promise<number> {
    const [row] = await world.rows<{ id: number }>(sql`
      insert into waybill.manifest_group (name) values (${name}) on conflict (name) do update set name = excluded.name returning id`);
    return row!.id;
  }

  world.plan = async (externalId, groups, columns = {}) => {
    const group = await groupNamed(externalId);
    const manifest = {
      external_id: externalId,
      kind: 'plan',
      group_id: group,
      owner: 'plans',
      schedule_type: 'none',
      backoff_jitter: 0,
      ...columns,
    };
    const keys = Object.keys(manifest);
    await world.database.query({
      text: `insert into waybill.manifest (${keys.join(', ')}) values (${keys.map((_, index) => `$${index + 1}`).join(', ')})
             on conflict (external_id) where deleted_at is null do update set ${['kind', ...Object.keys(columns)].map((key) => `${key} = excluded.${key}`).join(', ')}`,
      values: Object.values(manifest),
    });
    const { id } = await world.manifest(externalId);
    await world.rows(sql`delete from waybill.plan_step where plan_id = ${id}`);
    for (const [groupIndex, steps] of groups.entries())
      for (const [position, step] of steps.entries()) {
        const one: PlannedStep = typeof step === 'string' ? { name: step } : step;
        await world.rows(sql`
          insert into waybill.plan_step (plan_id, group_index, position, name, workflow_name, input, pool, group_id, continue_on_failure, timeout_seconds, max_attempts, is_enabled)
          values (${id}, ${groupIndex}, ${position}, ${one.name}, ${one.workflow ?? 'work'}, ${JSON.stringify(one.input ?? { step: one.name })}, ${one.pool},
                  ${one.group ? await groupNamed(one.group) : group}, ${one.continueOnFailure ?? false}, ${one.timeoutSeconds}, ${one.maxAttempts ?? 1}, ${one.isEnabled ?? true})`);
      }
  };
  world.depend = async (childId, parentId) => {
    const [child, parent] = [await world.manifest(childId), await world.manifest(parentId)];
    await world.rows(sql`insert into waybill.manifest_dependency (child_id, parent_id) values (${child.id}, ${parent.id})`);
  };
  world.begin = async (externalId = 'plan') => {
    await trigger(world.context, { externalId });
    await world.dispatch();
  };
  world.plans = (externalId = 'plan') =>
    world.rows<PlanRow>(sql`
      select e.* from waybill.execution e join waybill.manifest m on m.id = e.manifest_id
       where m.external_id = ${externalId} and e.parent_id is null order by e.id`);
  world.latest = async (externalId = 'plan') => {
    const plan = (await world.plans(externalId)).at(-1);
    if (!plan) throw new Error(`plan '${externalId}' was never started`);
    return plan;
  };
  world.steps = async (externalId = 'plan') => {
    const { id } = await world.latest(externalId);
    return world.rows<StepRow>(sql`
      select * from waybill.execution where parent_id = ${id} and group_index is not null order by group_index, position, attempt`);
  };
  world.states = async (externalId = 'plan') =>
    Object.fromEntries((await world.steps(externalId)).map(({ step_name, state }) => [step_name, state]));
  world.queued = async () => {
    const rows = await world.rows<{ name: string }>(sql`
      select e.step_name as name from waybill.work_queue w join waybill.execution e on e.id = w.execution_id where w.status = 'queued' order by w.rank_at, w.id`);
    return rows.map(({ name }) => name);
  };
  return world;
}

export { fail };
