import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import { checkInvariants } from '../../local/testing/check-invariants.ts';
import { type RecordedDoorbell, recordDoorbell } from '../../local/testing/record-doorbell.ts';
import { type Database, openDatabase } from '../../shared/db/database.ts';
import { type Sql, sql } from '../../shared/db/sql.ts';
import type { ManifestDefinition } from '../../shared/define/definition.ts';
import { syncApp } from '../../shared/define/sync.ts';
import { dispatcherCycle } from '../../shared/dispatcher/cycle.ts';
import { type ExecutorDependencies, runExecutions } from '../../shared/executor/run.ts';
import { managerCycle } from '../../shared/manager/cycle.ts';
import type { ExecutionId } from '../../shared/model/ids.ts';
import type { AnyWorkflow } from '../../shared/model/workflow.ts';
import { createLogger } from '../../shared/observability/log.ts';
import type { EndedRun } from '../../shared/transitions/end-runs.ts';
import { useDatabase } from './database.ts';

export { type RecordedDoorbell, recordDoorbell };

const silent = createLogger('test', () => {});

export const START = '2026-03-02T00:00:00Z';

export const pools = { default: { queueUrl: 'http://queue/default', concurrency: 100, batchSize: 1 } };

/** How long the function of an invocation may still run, and whatever else the executor is to have instead of what the engine gives it. */
export type ExecuteOptions = Partial<ExecutorDependencies> & { remainingMs?: number };

/** The real engine on a real database, with a clock that the test moves and bells that the test delivers. */
export interface Engine {
  database: Database;
  clock: { now(): Date; set(at: string | Date): void; advance(seconds: number): void };
  doorbell: RecordedDoorbell;
  sync(manifests: (Partial<ManifestDefinition> & { externalId: string })[]): ReturnType<typeof syncApp>;
  manage(): ReturnType<typeof managerCycle>;
  dispatch(): ReturnType<typeof dispatcherCycle>;
  execute(executionIds: ExecutionId[], workflows?: AnyWorkflow[], options?: ExecuteOptions): Promise<EndedRun[]>;
  /** Delivers every bell rung so far, once. */
  deliver(workflows?: AnyWorkflow[], options?: ExecuteOptions): Promise<EndedRun[]>;
  rows<Row = Record<string, unknown>>(statement: Sql): Promise<Row[]>;
}

export const anyInput = { '~standard': { version: 1 as const, vendor: 'test', validate: (value: unknown) => ({ value }) } };

/** A workflow that does what it is told. */
export function workflowNamed(name: string, run: AnyWorkflow['run'] = () => ({ ok: true })): AnyWorkflow {
  return { name, pool: 'default', input: anyInput, run };
}

export function useEngine({ startAt = START } = {}): Engine {
  const source = useDatabase();
  let now = new Date(startAt);
  const engine = {
    doorbell: recordDoorbell(),
    clock: {
      now: () => now,
      set: (at: string | Date) => {
        now = new Date(at);
      },
      advance: (seconds: number) => {
        now = new Date(now.getTime() + seconds * 1000);
      },
    },
  } as Engine;
  beforeAll(() => {
    engine.database = openDatabase({ url: source.url, maxConnections: 30, clock: engine.clock });
  });
  afterEach(() => engine.database.transaction((db) => checkInvariants(db, { kinds: ['always'] })));
  afterAll(() => engine.database.close());
  engine.sync = (manifests) =>
    syncApp(
      engine.database,
      {
        name: 'test',
        workflows: [{ name: 'work', pool: 'default' }],
        groups: manifests.map(({ group, externalId }) => ({ name: group ?? externalId })),
        manifests: manifests.map((manifest) => ({
          workflow: 'work',
          input: {},
          group: manifest.externalId,
          schedule: { type: 'interval', intervalSeconds: 60, anchor: 'occurrence' },
          ...manifest,
        })),
      },
      randomUUID(),
    );
  engine.manage = () => managerCycle({ database: engine.database, doorbell: engine.doorbell, pools });
  engine.dispatch = () => dispatcherCycle({ database: engine.database, doorbell: engine.doorbell, pools });
  engine.execute = async (executionIds, workflows = [workflowNamed('work')], { remainingMs = 60_000, ...options } = {}) => {
    const all: EndedRun[] = [];
    // What an invocation postpones is delivered again, as a queue would.
    for (let ids = executionIds; ids.length; ) {
      const { ended, postponed } = await runExecutions(
        { executionIds: ids, requestId: randomUUID(), logStream: 'test', remainingMs },
        {
          database: engine.database,
          databaseOptions: { url: source.url, clock: engine.clock },
          doorbell: engine.doorbell,
          workQueueUrl: pools.default.queueUrl,
          workflows: new Map(workflows.map((one) => [one.name, one])),
          log: silent,
          ...options,
        },
      );
      all.push(...ended);
      ids = postponed;
    }
    return all;
  };
  engine.deliver = (workflows, options) =>
    engine.execute(
      engine.doorbell.bells.splice(0).map(({ executionId }) => executionId),
      workflows,
      options,
    );
  engine.rows = (statement) => engine.database.query(statement);
  return engine;
}

/** The same, but every test begins at {@link START} with empty tables and no bell rung. */
export function useFreshEngine(): Engine {
  const engine = useEngine();
  beforeEach(async () => {
    engine.clock.set(START);
    engine.doorbell.bells.length = 0;
    engine.doorbell.managerPokes.length = 0;
    engine.doorbell.dispatcherPokes = 0;
    await clear(engine);
  });
  return engine;
}

/** Empties every table but the single-row ones, so that each test states its own world. */
export async function clear({ database }: Engine): Promise<void> {
  await database.query(sql`
    truncate waybill.manifest, waybill.manifest_group, waybill.work_queue, waybill.execution, waybill.execution_step, waybill.execution_log,
             waybill.dead_letter, waybill.workflow, waybill.deployment, waybill.notification, waybill.audit_event, waybill.backfill cascade`);
  await database.query(sql`update waybill.scheduler_state set wake_generation = 0, armed_generation = 0, armed_at = null`);
  await database.query(sql`update waybill.capacity set max_active_jobs = null, is_paused = false`);
}
