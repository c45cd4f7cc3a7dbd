import { randomUUID } from 'node:crypto';
import { describe, expect, inject, it } from 'vitest';
import { sql } from '../../shared/db/sql.ts';
import { dispatcherCycle } from '../../shared/dispatcher/cycle.ts';
import { WaybillError } from '../../shared/errors.ts';
import { runExecutions } from '../../shared/executor/run.ts';
import { managerCycle } from '../../shared/manager/cycle.ts';
import { createLogger } from '../../shared/observability/log.ts';
import { cancelExecution } from '../../shared/operations/cancel-execution.ts';
import type { OperationContext } from '../../shared/operations/context.ts';
import { resume } from '../../shared/operations/resume.ts';
import { trigger } from '../../shared/operations/trigger.ts';
import { following } from '../engine/use-world.ts';
import { checkInvariants } from '../support/check-invariants.ts';
import { type CrashPoints, crashPoints, Killed } from '../support/crash-points.ts';
import { pools, workflowNamed } from '../support/engine.ts';
import { usePlans } from './use-plans.ts';

const world = usePlans();
const silent = createLogger('test', () => {});

type Process = 'manager' | 'dispatcher' | 'executor' | 'cancel the plan' | 'cancel a step' | 'resume the plan';

interface Scene {
  title: string;
  /** What lives, one after the other, two seconds apart. The plan is queued before. */
  processes: Process[];
  /** Which of them are killed, by their place: those that do something no other scene does. */
  killed: number[];
  timeoutSeconds?: number;
  /** The states in which the plan may end when one of them was killed. */
  ends: string[];
  /** Whether the last of the group 1 fails, however often it is tried. */
  fails?: (attempt: number) => boolean;
}

const scenes: Scene[] = [
  {
    title: 'a plan with a retry, a tolerated failure and a disabled step',
    processes: ['dispatcher', 'executor', 'dispatcher', 'executor', 'dispatcher', 'executor'],
    killed: [0, 1, 3, 5],
    ends: ['completed_with_warnings'],
  },
  {
    title: 'a plan that is cancelled',
    processes: ['dispatcher', 'executor', 'dispatcher', 'cancel the plan'],
    killed: [3],
    ends: ['cancelled', 'completed_with_warnings'],
  },
  {
    title: 'a plan of which a step is cancelled',
    processes: ['dispatcher', 'cancel a step', 'executor'],
    killed: [1],
    ends: ['failed', 'completed_with_warnings'],
  },
  { title: 'a plan that runs out of time', processes: ['dispatcher', 'manager'], killed: [1], timeoutSeconds: 2, ends: ['failed'] },
  {
    title: 'a plan that fails and is resumed',
    processes: ['dispatcher', 'executor', 'dispatcher', 'executor', 'dispatcher', 'executor', 'resume the plan', 'dispatcher', 'executor'],
    killed: [5, 6, 7],
    ends: ['completed_with_warnings', 'failed'],
    fails: (attempt) => attempt < 4,
  },
];

/** What the steps did, attempt by attempt: the only thing that cannot be rolled back. */
let ledger: string[] = [];

function workOf({ fails = (attempt) => attempt < 2 }: Scene) {
  return workflowNamed('work', (ctx, input) => {
    const { step } = input as { step?: string };
    ledger.push(`${step ?? 'after'} ${ctx.attempt} of ${ctx.execution.runId}`);
    if (step === 'tolerated') throw new Error('no');
    if (step === 'flaky' && fails(ctx.attempt)) throw new Error('not yet');
    return {};
  });
}

/** A process that lives for one invocation, or a person's request; killed, it is simply gone. */
async function live(process: Process, scene: Scene, points: CrashPoints): Promise<void> {
  const database = points.database(world.database);
  const doorbell = points.doorbell(world.doorbell);
  const context: OperationContext = { ...world.context, database, doorbell };
  const [plan] = await world.plans();
  try {
    if (process === 'manager') await managerCycle({ database, doorbell, pools });
    else if (process === 'dispatcher') await dispatcherCycle({ database, doorbell, pools });
    else if (process === 'cancel the plan') await cancelExecution(context, String(plan!.id));
    else if (process === 'cancel a step') await cancelExecution(context, String((await world.steps())[0]!.id));
    else if (process === 'resume the plan') await resume(context, String(plan!.id));
    else {
      const executionIds = world.doorbell.bells.splice(0).map(({ executionId }) => executionId);
      const invocation = { executionIds, requestId: randomUUID(), logStream: 'test', remainingMs: 60_000 };
      const workflows = new Map([['work', workOf(scene)]]);
      const databaseOptions = { url: inject('databaseUrl') };
      if (!executionIds.length) return;
      const { postponed } = await runExecutions(invocation, {
        database,
        databaseOptions,
        doorbell,
        workflows,
        log: silent,
        workQueueUrl: pools.default.queueUrl,
      });
      world.doorbell.bells.push(...postponed.map((executionId) => ({ executionId, queueUrl: pools.default.queueUrl })));
    }
  } catch (error) {
    // What a person is told, because an earlier process was killed, is an answer.
    if (!(error instanceof Killed || error instanceof WaybillError)) throw error;
  }
}

async function play(scene: Scene, killed?: { process: number; at: number }): Promise<string[][]> {
  await world.empty();
  ledger = [];
  const group = [
    { name: 'flaky', maxAttempts: 3 },
    { name: 'tolerated', continueOnFailure: true },
  ];
  const last = { name: 'last', maxAttempts: 3 };
  await world.plan('plan', [group, [{ name: 'off', isEnabled: false }], [last]], {
    backoff_initial_seconds: 1,
    timeout_seconds: scene.timeoutSeconds,
  });
  await world.sync([{ externalId: 'after', schedule: following('plan') }]);
  await world.manage();
  await trigger(world.context, { externalId: 'plan' });
  const reached: string[][] = [];
  for (const [index, process] of scene.processes.entries()) {
    const points = crashPoints(process, index === killed?.process ? killed.at : undefined, { insideTransactions: true });
    await live(process, scene, points);
    reached.push(points.reached);
    if (index === killed?.process) break;
    world.clock.advance(2);
  }
  return reached;
}

/** Lets the survivors work until all has ended, at most as long as lost leases, retries and bells take. */
async function recover(scene: Scene): Promise<void> {
  for (let round = 0; round < 30; round++) {
    world.clock.advance(20);
    for (const process of ['manager', 'dispatcher', 'executor'] as const) await live(process, scene, crashPoints(process));
    const open = await world.rows(sql`
      select from waybill.execution where finished_at is null union all select from waybill.work_queue where status = 'queued'
      union all select from waybill.manifest where next_due_at <= waybill.now()`);
    if (!open.length) return;
  }
}

async function expectDone(scene: Scene): Promise<string> {
  await world.database.transaction((db) => checkInvariants(db, { kinds: ['always', 'eventually'] }));
  expect(await world.rows(sql`select id, state from waybill.execution where finished_at is null`)).toEqual([]);
  expect(await world.rows(sql`select id from waybill.work_queue where status = 'queued'`)).toEqual([]);
  const plans = await world.plans();
  const { state } = plans.at(-1)!;
  expect(scene.ends).toContain(state);
  const successCount = plans.filter((plan) => plan.state.startsWith('completed')).length;
  expect(successCount).toBeLessThanOrEqual(1);
  expect(await world.manifest('plan')).toMatchObject({ success_count: successCount });
  expect(await world.runs('after')).toHaveLength(successCount);
  // No attempt of a step runs twice, unless it was lost together with others and handed back to run alone.
  const solo = await world.rows<{ run: string }>(sql`select attempt || ' of ' || run_id as run from waybill.execution where is_solo`);
  const twice = ledger.filter((line, index) => ledger.indexOf(line) !== index && !solo.some(({ run }) => line.endsWith(run)));
  expect(twice).toEqual([]);
  return state;
}

describe.each(scenes)('$title', (scene) => {
  it('comes to its end without a crash', async () => {
    const reached = await play(scene);
    expect(reached.flat().length).toBeGreaterThan(20);
    await recover(scene);
    expect(await expectDone(scene)).toBe(scene.ends[0]);
  });

  it('killed before any statement, commit or send, it ends all the same, and once', async () => {
    const reached = await play(scene);
    for (const process of scene.killed)
      for (let at = 0; at < reached[process]!.length; at++) {
        const where = (await play(scene, { process, at })).at(-1)![at];
        expect(where, `instead of ${reached[process]![at]}`).toBeDefined();
        try {
          await recover(scene);
          await expectDone(scene);
        } catch (error) {
          throw new Error(`after a kill at ${where}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
        }
      }
  }, 300_000);
});
