import { beforeAll, beforeEach } from 'vitest';
import { sql } from '../../shared/db/sql.ts';
import type { ManifestDefinition, ScheduleDefinition } from '../../shared/define/definition.ts';
import type { WorkflowContext } from '../../shared/model/workflow.ts';
import type { OperationContext } from '../../shared/operations/context.ts';
import type { EndedRun } from '../../shared/transitions/end-runs.ts';
import { type Engine, useEngine, workflowNamed } from '../support/engine.ts';

export const START = '2026-03-02T00:00:00Z';

export type Declared = Partial<ManifestDefinition> & { externalId: string };

/** What a run of the workflow does: returns, or throws. */
export type Behaviour = (context: WorkflowContext, input: unknown) => unknown;

export interface ManifestRow {
  id: number;
  external_id: string;
  is_enabled: boolean;
  success_count: number;
  failed_count: number;
  skip_count: number;
  last_skip_reason: string | null;
  next_occurrence_at: Date | null;
  next_due_at: Date | null;
  quarantine_error: string | null;
  deleted_at: Date | null;
}

export interface RunRow {
  id: number;
  run_id: number;
  state: string;
  attempt: number;
  input: unknown;
  origin: string;
  occurrence_at: Date | null;
  failure_code: string | null;
}

export interface EntryRow {
  id: number;
  status: string;
  lane: string;
  origin: string;
  input: unknown;
  attempt: number;
  run_id: number | null;
  occurrence_at: Date | null;
  available_at: Date;
  cancel_reason: string | null;
}

/** The engine in a world of each test's own, with the words in which behaviours are told. */
export interface World extends Engine {
  /** Who asks, in tests of what people ask for. */
  context: OperationContext;
  /** What `work` does when it is run; reset before each test to something that succeeds. */
  behaviour: Behaviour;
  at(time: string): Date;
  manifest(externalId: string): Promise<ManifestRow>;
  /** The executions of a manifest in the order of their admission. */
  runs(externalId: string): Promise<RunRow[]>;
  entries(externalId: string): Promise<EntryRow[]>;
  awaiting(externalId: string): Promise<{ id: string; reason: string; input: unknown; failed_count: number }>;
  /** One look of everybody: what is due is queued, admitted and run. */
  cycle(): Promise<EndedRun[]>;
  /** Begins anew, for tests that repeat a scene. */
  empty(): Promise<void>;
  /** Cycles until nothing can be done any more, moving the clock to whatever waits in the queue for a later instant. */
  drain(): Promise<void>;
}

export const none: ScheduleDefinition = { type: 'none' };
export const everyMinute: ScheduleDefinition = { type: 'interval', intervalSeconds: 60, anchor: 'occurrence' };
export const minuteAfterEnd: ScheduleDefinition = { type: 'interval', intervalSeconds: 60, anchor: 'completion' };
export const cronAt = (expression: string, timeZone = 'UTC'): ScheduleDefinition => ({ type: 'cron', expression, timeZone });
export const onceAt = (time: string): ScheduleDefinition => ({ type: 'once', runAt: at(time).toISOString() });
export const following = (dependsOn: string | string[], mode: 'all' | 'any' = 'all'): ScheduleDefinition => ({
  type: 'dependent',
  dependsOn: [dependsOn].flat(),
  mode,
});

/** An instant of the day on which every test begins. */
function at(time: string): Date {
  return new Date(time.includes('T') ? time : `${START.slice(0, 11)}${time}Z`);
}

/** Deletes instead of truncating: of a few rows that takes a tenth of the time, and there are many tests. */
async function empty({ database }: Engine): Promise<void> {
  const tables = [
    'manifest_dependency',
    'backfill',
    'manifest',
    'manifest_group',
    'work_queue',
    'execution',
    'execution_step',
    'execution_log',
  ];
  const others = ['dead_letter', 'workflow', 'deployment', 'notification', 'audit_event'];
  await database.query({ text: [...tables, ...others].map((table) => `delete from waybill.${table}`).join(';'), values: [] });
  await database.query(sql`update waybill.scheduler_state set wake_generation = 0, armed_generation = 0, armed_at = null`);
  await database.query(sql`update waybill.capacity set max_active_jobs = null, is_paused = false`);
}

/** A world of each test's own, or one that all tests of a file look at. */
export function useWorld({ isShared = false } = {}): World {
  const engine = useEngine({ startAt: START });
  const world = engine as World;
  const work = workflowNamed('work', (context, input) => world.behaviour(context, input));
  const rowsOf = <Row>(table: 'execution' | 'work_queue', externalId: string) =>
    engine.database.query<Row>({
      text: `select t.* from waybill.${table} t join waybill.manifest m on m.id = t.manifest_id where m.external_id = $1 order by t.id`,
      values: [externalId],
    });

  world.empty = async () => {
    engine.clock.set(START);
    Object.assign(engine.doorbell, { dispatcherPokes: 0 });
    engine.doorbell.bells.length = 0;
    engine.doorbell.managerPokes.length = 0;
    world.behaviour = () => ({ ok: true });
    world.context = { database: engine.database, doorbell: engine.doorbell, initiator: { type: 'user', id: 'u1', name: 'Ada' } };
    await empty(engine);
  };
  (isShared ? beforeAll : beforeEach)(world.empty);

  world.at = at;
  world.manifest = async (externalId) => {
    const [row] = await engine.rows<ManifestRow>(
      sql`select * from waybill.manifest where external_id = ${externalId} order by id desc limit 1`,
    );
    if (!row) throw new Error(`manifest '${externalId}' was never declared`);
    return row;
  };
  world.runs = (externalId) => rowsOf('execution', externalId);
  world.entries = (externalId) => rowsOf('work_queue', externalId);
  world.awaiting = async (externalId) => {
    const [row] = await engine.rows<Awaited<ReturnType<World['awaiting']>>>(sql`
      select d.id::text, d.reason, d.input, d.failed_count from waybill.dead_letter d join waybill.manifest m on m.id = d.manifest_id
       where m.external_id = ${externalId} and d.status = 'awaiting_intervention'`);
    if (!row) throw new Error(`manifest '${externalId}' has no dead letter that awaits a person`);
    return row;
  };
  world.cycle = async () => {
    await engine.manage();
    await engine.dispatch();
    return engine.deliver([work]);
  };
  const deliver = engine.deliver;
  engine.deliver = (workflows = [work], options = {}) => deliver(workflows, options);
  const execute = engine.execute;
  engine.execute = (ids, workflows = [work], options = {}) => execute(ids, workflows, options);
  world.drain = async () => {
    for (let round = 0; round < 500; round++) {
      const { queuedCount, skippedCount, recoveredCount } = await engine.manage();
      const { admittedCount } = await engine.dispatch();
      const ended = await engine.deliver();
      if (queuedCount + skippedCount + recoveredCount + admittedCount + ended.length > 0) continue;
      const [next] = await engine.rows<{ ms: number | null }>(
        sql`select (extract(epoch from min(available_at)) * 1000)::float8 as ms from waybill.work_queue where status = 'queued' and available_at > waybill.now()`,
      );
      if (!next?.ms) return;
      // Up, because Postgres counts in microseconds.
      engine.clock.set(new Date(Math.ceil(next.ms)));
    }
    throw new Error('500 cycles did not bring it to rest: something keeps coming back');
  };
  return world;
}

export const fail: Behaviour = () => {
  throw new Error('no');
};
