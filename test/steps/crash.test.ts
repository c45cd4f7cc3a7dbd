import { randomUUID } from 'node:crypto';
import { setTimeout as takeMs } from 'node:timers/promises';
import { describe, expect, inject, it } from 'vitest';
import { sql } from '../../shared/db/sql.ts';
import { dispatcherCycle } from '../../shared/dispatcher/cycle.ts';
import { runExecutions } from '../../shared/executor/run.ts';
import { managerCycle } from '../../shared/manager/cycle.ts';
import type { AnyWorkflow, WorkflowContext } from '../../shared/model/workflow.ts';
import { createLogger } from '../../shared/observability/log.ts';
import { checkInvariants } from '../support/check-invariants.ts';
import { type CrashPoints, crashPoints, Killed } from '../support/crash-points.ts';
import { pools, workflowNamed } from '../support/engine.ts';
import { useSteps } from './use-steps.ts';

const world = useSteps();
const silent = createLogger('test', () => {});

/** What the steps did: the only thing that cannot be rolled back. */
let ledger: string[] = [];
const effect = (ctx: WorkflowContext, name: string, milliseconds = 0) =>
  ctx.step(name, async () => {
    ledger.push(name);
    await takeMs(milliseconds);
    return name;
  });

type Process = 'manager' | 'dispatcher' | 'executor';

interface Scene {
  title: string;
  run: AnyWorkflow['run'];
  others?: AnyWorkflow[];
  /** What lives, one after the other, ten seconds apart. The run is admitted before. */
  processes: Process[];
  remainingMs?: number;
  /** How many steps an invocation begins depends on how long they take, so not every point of one play is there in another. */
  isPaced?: boolean;
  effects: string[];
}

const nested = workflowNamed('nested', async (ctx) => {
  await effect(ctx, 'in nested');
  await ctx.sleep('inner pause', 10);
  return effect(ctx, 'in nested, later');
});

const scenes: Scene[] = [
  {
    title: 'steps one after the other and side by side, one of which fails and is dealt with',
    async run(ctx) {
      await effect(ctx, 'first');
      await Promise.all([effect(ctx, 'left'), effect(ctx, 'right')]);
      await ctx.step('failing', () => Promise.reject(new Error('no'))).catch(() => effect(ctx, 'fallback'));
      return effect(ctx, 'last');
    },
    processes: ['executor'],
    effects: ['first', 'left', 'right', 'fallback', 'last'],
  },
  {
    title: 'a sleep',
    async run(ctx) {
      await effect(ctx, 'before');
      await ctx.sleep('pause', 10);
      return effect(ctx, 'after');
    },
    processes: ['executor', 'manager', 'dispatcher', 'executor'],
    effects: ['before', 'after'],
  },
  {
    title: 'a nested run that sleeps',
    async run(ctx) {
      await effect(ctx, 'before');
      await ctx.run('nested', nested, {});
      return effect(ctx, 'after');
    },
    others: [nested],
    processes: ['executor', 'manager', 'dispatcher', 'executor'],
    effects: ['before', 'in nested', 'in nested, later', 'after'],
  },
  {
    title: 'a continuation',
    async run(ctx) {
      for (const name of ['a', 'b', 'c', 'd']) await effect(ctx, name, 60);
    },
    processes: ['executor', 'executor', 'executor'],
    remainingMs: 300,
    isPaced: true,
    effects: ['a', 'b', 'c', 'd'],
  },
];

/** A process that lives for one invocation; killed, it is simply gone. */
async function live(process: Process, scene: Scene, points: CrashPoints): Promise<void> {
  const database = points.database(world.database);
  const doorbell = points.doorbell(world.doorbell);
  try {
    if (process === 'manager') await managerCycle({ database, doorbell, pools });
    else if (process === 'dispatcher') await dispatcherCycle({ database, doorbell, pools });
    else {
      const executionIds = world.doorbell.bells.splice(0).map(({ executionId }) => executionId);
      const { run, others = [], remainingMs = 60_000 } = scene;
      const workflows = new Map([workflowNamed('work', run), ...others].map((one) => [one.name, one]));
      const databaseOptions = { url: inject('databaseUrl') };
      const dependencies = { database, databaseOptions, doorbell, workQueueUrl: pools.default.queueUrl, workflows, log: silent };
      if (executionIds.length)
        await runExecutions(
          { executionIds, requestId: randomUUID(), logStream: 'test', remainingMs },
          { ...dependencies, timings: { graceMs: 20 } },
        );
    }
  } catch (error) {
    if (!(error instanceof Killed)) throw error;
  }
}

async function play(scene: Scene, killed?: { process: number; at: number }): Promise<string[][]> {
  await world.empty();
  ledger = [];
  await world.sync([{ externalId: 'job', schedule: { type: 'none' }, maxAttempts: 3, backoff: { initialSeconds: 1, jitter: 0 } }]);
  await world.begin();
  const reached: string[][] = [];
  for (const [index, process] of scene.processes.entries()) {
    const points = crashPoints(process, index === killed?.process ? killed.at : undefined);
    await live(process, scene, points);
    reached.push(points.reached);
    if (index === killed?.process) break;
    world.clock.advance(10);
  }
  return reached;
}

/** Lets the survivors work until nothing is left to do, and no longer than a lost lease, a retry and a lost bell take. */
async function recover(scene: Scene): Promise<void> {
  for (let round = 0; round < 16 && (await isUnfinished()); round++) {
    world.clock.advance(20);
    for (const process of ['manager', 'dispatcher', 'executor'] as const) await live(process, scene, crashPoints(process));
  }
}

async function isUnfinished(): Promise<boolean> {
  const rows = await world.rows(sql`
    select from waybill.execution where finished_at is null union all select from waybill.work_queue where status = 'queued'`);
  return rows.length > 0;
}

async function expectDone(scene: Scene, completedBefore: string[], ledgerBefore: string[]): Promise<void> {
  await world.database.transaction((db) => checkInvariants(db, { kinds: ['always', 'eventually'] }));
  expect(await isUnfinished()).toBe(false);
  expect(await world.manifest('job')).toMatchObject({ success_count: 1, failed_count: 0 });
  const count = (names: string[], name: string) => names.filter((one) => one === name).length;
  for (const name of scene.effects) {
    expect(count(ledger, name), `effects of '${name}'`).toBeGreaterThanOrEqual(1);
    expect(count(ledger, name), `effects of '${name}'`).toBeLessThanOrEqual(2);
    if (completedBefore.includes(name))
      expect(count(ledger, name), `'${name}' was completed before the kill`).toBe(count(ledgerBefore, name));
  }
  const attempts = await world.rows<{ state: string; failure_code: string | null }>(
    sql`select state, failure_code from waybill.execution where parent_id is null order by id`,
  );
  expect(attempts.at(-1)).toMatchObject({ state: 'completed' });
  for (const attempt of attempts.slice(0, -1)) expect(attempt).toMatchObject({ state: 'failed', failure_code: 'lease_lost' });
}

const completed = async () => (await world.steps()).filter(({ state }) => state === 'completed').map(({ name }) => name.split('/').at(-1)!);

describe.each(scenes)('$title', (scene) => {
  it('comes to its end without a crash, and nothing runs twice', async () => {
    const reached = await play(scene);
    expect(reached.flat().length).toBeGreaterThan(8);
    await recover(scene);
    await expectDone(scene, [], []);
    expect(ledger.toSorted()).toEqual(scene.effects.toSorted());
  });

  it('killed at any commit, statement or send, it comes to one outcome, and what was completed is not run again', async () => {
    const reached = await play(scene);
    let killedCount = 0;
    for (const [process, points] of reached.entries())
      for (let at = 0; at < points.length; at++) {
        const where = (await play(scene, { process, at })).at(-1)![at];
        if (!scene.isPaced) expect(where, `instead of ${reached[process]![at]}`).toBeDefined();
        if (where !== undefined) killedCount++;
        const [completedBefore, ledgerBefore] = [await completed(), [...ledger]];
        try {
          await recover(scene);
          await expectDone(scene, completedBefore, ledgerBefore);
        } catch (error) {
          throw new Error(`after a kill at ${where}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
        }
      }
    expect(killedCount).toBeGreaterThan(reached.flat().length / 2);
  }, 120_000);
});
