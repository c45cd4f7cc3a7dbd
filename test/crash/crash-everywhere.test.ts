import { randomUUID } from 'node:crypto';
import { beforeEach, expect, inject, it } from 'vitest';
import type { Database } from '../../shared/db/database.ts';
import { sql } from '../../shared/db/sql.ts';
import { dispatcherCycle } from '../../shared/dispatcher/cycle.ts';
import { runExecutions } from '../../shared/executor/run.ts';
import { managerCycle } from '../../shared/manager/cycle.ts';
import type { ExecutionId } from '../../shared/model/ids.ts';
import { createLogger } from '../../shared/observability/log.ts';
import type { Doorbell } from '../../shared/queue/doorbell.ts';
import { checkInvariants } from '../support/check-invariants.ts';
import { type CrashPoints, crashPoints, Killed } from '../support/crash-points.ts';
import { clear, pools, useEngine, workflowNamed } from '../support/engine.ts';

const engine = useEngine();
const silent = createLogger('test', () => {});

/** What the workflows did, run by run and attempt by attempt: the only thing that cannot be rolled back. */
let ledger: { runId: string; manifest: string; attempt: number }[] = [];

const work = workflowNamed('work', (ctx) => {
  ledger.push({ runId: ctx.execution.runId, manifest: ctx.execution.manifest!, attempt: ctx.attempt });
  if (ctx.execution.manifest === 'flaky' && ctx.attempt === 1) throw new Error('not yet');
  if (ctx.execution.manifest === 'doomed') throw new Error('never');
  return {};
});

/** A process that lives for one invocation; killed, it is simply gone. */
async function live(act: () => Promise<unknown>): Promise<void> {
  try {
    await act();
  } catch (error) {
    if (!(error instanceof Killed)) throw error;
  }
}

type Process = 'manager' | 'dispatcher' | 'executor';

async function step(process: Process, points: CrashPoints): Promise<void> {
  const database = points.database(engine.database);
  const doorbell = points.doorbell(engine.doorbell);
  if (process === 'manager') return live(() => managerCycle({ database, doorbell, pools }));
  if (process === 'dispatcher') return live(() => dispatcherCycle({ database, doorbell, pools }));
  const executionIds = engine.doorbell.bells.splice(0).map(({ executionId }) => executionId);
  if (!executionIds.length) return undefined;
  return live(() => execute(executionIds, database, doorbell));
}

/** What the invocation gives back is delivered again, as SQS would. */
async function execute(executionIds: ExecutionId[], database: Database, doorbell: Doorbell): Promise<void> {
  const { postponed } = await runExecutions(
    { executionIds, requestId: randomUUID(), logStream: 'test', remainingMs: 60_000 },
    { database, databaseOptions: { url: inject('databaseUrl') }, doorbell, workflows: new Map([['work', work]]), log: silent },
  );
  engine.doorbell.bells.push(...postponed.map((executionId) => ({ executionId, queueUrl: pools.default.queueUrl })));
}

/** A parent with a dependent, one that fails first, one that always fails: due, admitted, run, retried, dead-lettered. */
const SCENARIO: Process[] = ['manager', 'dispatcher', 'executor', 'manager', 'dispatcher', 'executor'];

async function prepare(): Promise<void> {
  engine.clock.set('2026-03-02T00:00:00Z');
  engine.doorbell.bells.length = 0;
  ledger = [];
  await clear(engine);
  const hourly = { type: 'interval', intervalSeconds: 3_600, anchor: 'occurrence' } as const;
  await engine.sync([
    { externalId: 'parent', schedule: hourly },
    { externalId: 'child', schedule: { type: 'dependent', dependsOn: ['parent'], mode: 'all' } },
    { externalId: 'flaky', schedule: hourly, backoff: { initialSeconds: 1, jitter: 0 } },
    { externalId: 'doomed', schedule: hourly, maxAttempts: 1 },
  ]);
}

/** Lets the survivors work for two minutes of virtual time, which is what is promised. */
async function recover(): Promise<void> {
  for (let round = 0; round < 8; round++) {
    engine.clock.advance(15);
    for (const process of ['manager', 'dispatcher', 'executor'] as const) await step(process, crashPoints(process));
  }
}

async function runScenario(killStep?: number, killAt?: number): Promise<string[]> {
  await prepare();
  const reached: string[] = [];
  for (const [index, process] of SCENARIO.entries()) {
    const points = crashPoints(process, index === killStep ? killAt : undefined);
    await step(process, points);
    if (index === killStep) return points.reached;
    reached.push(...points.reached.map((_, at) => `${index}:${at}`));
    engine.clock.advance(1);
  }
  return reached;
}

async function expectAllDone(): Promise<void> {
  await engine.database.transaction((db) => checkInvariants(db, { kinds: ['always', 'eventually'] }));
  const counts = await engine.rows(sql`
    select external_id, success_count, failed_count,
           (select count(*) from waybill.dead_letter d where d.manifest_id = m.id) as dead_letters
      from waybill.manifest m order by external_id`);
  expect(counts).toEqual([
    { external_id: 'child', success_count: 1, failed_count: 0, dead_letters: 0 },
    { external_id: 'doomed', success_count: 0, failed_count: 1, dead_letters: 1 },
    { external_id: 'flaky', success_count: 1, failed_count: 0, dead_letters: 0 },
    { external_id: 'parent', success_count: 1, failed_count: 0, dead_letters: 0 },
  ]);
  const unfinished = await engine.rows(sql`select id, state from waybill.execution where finished_at is null`);
  expect(unfinished).toEqual([]);
  expect(await engine.rows(sql`select id from waybill.work_queue where status = 'queued'`)).toEqual([]);
}

/**
 * Nothing runs twice unless a lease expired: within one attempt only if it was lost together with others and handed back to run alone, and a further attempt only because
 * the one before failed, by itself or with its executor.
 */
async function expectLedgerIsHonest(): Promise<void> {
  const rows = await engine.rows<{ runId: string; attempt: number; state: string; failureCode: string | null; isSolo: boolean }>(sql`
    select run_id::text as "runId", attempt, state, failure_code as "failureCode", is_solo as "isSolo" from waybill.execution order by id`);
  for (const row of rows) {
    const effects = ledger.filter(({ runId, attempt }) => runId === row.runId && attempt === row.attempt).length;
    expect(effects, `effects of run ${row.runId}, attempt ${row.attempt}`).toBeLessThanOrEqual(row.isSolo ? 2 : 1);
    const isRepeated = rows.some(({ runId, attempt }) => runId === row.runId && attempt === row.attempt + 1);
    if (isRepeated) expect(row).toMatchObject({ state: 'failed', failureCode: expect.stringMatching(/^(thrown|lease_lost)$/) });
  }
  expect(ledger.filter(({ runId, attempt }) => !rows.some((row) => row.runId === runId && row.attempt === attempt))).toEqual([]);
}

beforeEach(() => {
  engine.doorbell.managerPokes.length = 0;
});

it('the scenario runs to its end without a crash', async () => {
  const reached = await runScenario();
  expect(reached.length).toBeGreaterThan(40);
  await recover();
  await expectAllDone();
  await expectLedgerIsHonest();
});

it.each(SCENARIO.map((process, index) => ({ process, index })))(
  'killed before or after any commit, statement or send of the $process in step $index, nothing is lost and nothing runs twice',
  async ({ index }) => {
    const points = (await runScenario()).filter((point) => point.startsWith(`${index}:`)).length;
    expect(points).toBeGreaterThan(0);
    for (let at = 0; at < points; at++) {
      const reached = await runScenario(index, at);
      const where = reached[at];
      expect(where, `point ${at} of ${points}`).toBeDefined();
      await recover();
      try {
        await expectAllDone();
        await expectLedgerIsHonest();
      } catch (error) {
        throw new Error(`after a kill at ${where}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
      }
    }
  },
  120_000,
);
