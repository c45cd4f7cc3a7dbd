import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../local/postgres/start-embedded-postgres.ts';
import { type Database, openDatabase } from '../../shared/db/database.ts';
import { migrate } from '../../shared/db/migrate.ts';
import { isConnectionLost } from '../../shared/db/postgres-errors.ts';
import { sql } from '../../shared/db/sql.ts';
import { syncApp } from '../../shared/define/sync.ts';
import { dispatcherCycle } from '../../shared/dispatcher/cycle.ts';
import { runExecutions } from '../../shared/executor/run.ts';
import { managerCycle } from '../../shared/manager/cycle.ts';
import { createLogger } from '../../shared/observability/log.ts';
import { checkInvariants } from '../support/check-invariants.ts';
import { pools, recordDoorbell, workflowNamed } from '../support/engine.ts';
import { useTemporaryDirectory } from '../support/temporary-directory.ts';

const directory = useTemporaryDirectory();
const silent = createLogger('test', () => {});
const doorbell = recordDoorbell();
const MANIFESTS = 20;
/** Short, so that a run whose executor lost its database is recovered while the test looks. */
const timings = { leaseSeconds: 3, recordingRetryMs: [100, 400] };

let postgres: EmbeddedPostgres;
let database: Database;
const effects = new Map<string, number>();
const work = workflowNamed('work', async (ctx) => {
  effects.set(ctx.execution.runId, (effects.get(ctx.execution.runId) ?? 0) + 1);
  await wait(20 + Math.random() * 200);
  return {};
});

const start = (port?: number) =>
  startEmbeddedPostgres({ dataDirectory: `${directory.path}/postgres`, isDurable: true, ...(port ? { port } : {}) });

beforeAll(async () => {
  postgres = await start();
  await migrate(postgres.url);
  database = openDatabase({ url: postgres.url, maxConnections: 8 });
  const schedule = { type: 'interval', intervalSeconds: 1, anchor: 'occurrence' } as const;
  const names = Array.from({ length: MANIFESTS }, (_, index) => `job-${index}`);
  await syncApp(
    database,
    {
      name: 'chaos',
      workflows: [{ name: 'work', pool: 'default' }],
      groups: names.map((name) => ({ name })),
      manifests: names.map((externalId) => ({
        externalId,
        workflow: 'work',
        input: {},
        group: externalId,
        schedule,
        maxAttempts: 100,
        backoff: { initialSeconds: 1 },
      })),
    },
    randomUUID(),
  );
});
afterAll(async () => {
  await database.close();
  await postgres.stop();
});

/** A function that is invoked again and again; what a lost database makes it raise is what its event source would retry. */
async function repeat(isOver: () => boolean, everyMs: number, act: () => Promise<unknown>): Promise<void> {
  while (!isOver()) {
    try {
      await act();
    } catch (error) {
      if (!isConnectionLost(error)) throw error;
    }
    await wait(everyMs);
  }
}

async function deliver(): Promise<void> {
  const bells = doorbell.bells.splice(0, 5);
  const executionIds = bells.map(({ executionId }) => executionId);
  if (!executionIds.length) return;
  const { postponed } = await runExecutions(
    { executionIds, requestId: randomUUID(), logStream: 'chaos', remainingMs: 30_000 },
    { database, databaseOptions: { url: postgres.url }, doorbell, workflows: new Map([['work', work]]), log: silent, timings },
  );
  // What had to stand back for a run that must be alone comes again, as from a queue.
  doorbell.bells.push(...bells.filter(({ executionId }) => postponed.includes(executionId)));
}

async function terminateBackends(): Promise<void> {
  const admin = openDatabase({ url: postgres.url, maxConnections: 1 });
  await admin.query(
    sql`select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
  );
  await admin.close();
}

const count = async (statement: ReturnType<typeof sql>) => Number((await database.query<{ count: number }>(statement))[0]?.count);

it('all runs reach an outcome although postgres is killed and every backend terminated during load', async () => {
  let isOver = false;
  const over = () => isOver;
  const processes = Promise.all([
    repeat(over, 200, () => managerCycle({ database, doorbell, pools })),
    repeat(over, 100, () => dispatcherCycle({ database, doorbell, pools })),
    ...Array.from({ length: 4 }, () => repeat(over, 30, deliver)),
  ]);

  await wait(2_000);
  await terminateBackends();
  await wait(2_000);
  const { port } = postgres;
  await postgres.kill();
  postgres = await start(port);
  await wait(2_000);
  await terminateBackends();
  await wait(1_000);

  await database.query(sql`update waybill.manifest set is_enabled = false, next_due_at = null`);
  const deadline = Date.now() + 60_000;
  const open = sql`select (select count(*) from waybill.execution where finished_at is null) + (select count(*) from waybill.work_queue where status = 'queued') as count`;
  // A bell that was lost with its executor is rung again after half a minute; what waits longer than a minute is stuck.
  while ((await count(open)) > 0 && Date.now() < deadline) await wait(250);
  isOver = true;
  await processes;

  expect(await database.query(sql`select id, state from waybill.execution where finished_at is null`)).toEqual([]);
  expect(await count(sql`select count(*) from waybill.execution where state = 'completed'`)).toBeGreaterThan(MANIFESTS);
  const succeeded = await database.query<{ runId: string }>(
    sql`select run_id::text as "runId" from waybill.execution where state = 'completed'`,
  );
  expect(succeeded.filter(({ runId }) => !effects.has(runId))).toEqual([]);
  expect(
    await database.query(sql`
      select m.external_id from waybill.manifest m
       where m.success_count <> (select count(*) from waybill.execution e where e.manifest_id = m.id and e.state = 'completed')`),
  ).toEqual([]);
  await database.transaction((db) => checkInvariants(db, { kinds: ['always'] }));
}, 120_000);
