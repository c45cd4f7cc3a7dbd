import { setTimeout as takeMs } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { sql } from '../../shared/db/sql.ts';
import { performStep } from '../../shared/executor/steps/perform-step.ts';
import type { WorkflowContext } from '../../shared/model/workflow.ts';
import { cancelExecution } from '../../shared/operations/cancel-execution.ts';
import { trigger } from '../../shared/operations/trigger.ts';
import { beforeStatement, settlesOrWaits } from '../engine/interleave.ts';
import { none } from '../engine/use-world.ts';
import { pools, recordDoorbell } from '../support/engine.ts';
import { useSteps } from './use-steps.ts';

const world = useSteps();
/** Of these, two thirds are for the workflow. */
const short = { remainingMs: 900, timings: { graceMs: 30 } };
const note = (ctx: WorkflowContext, name: string, milliseconds = 0) =>
  ctx.step(name, async ({ signal }) => {
    world.done.push(name);
    await takeMs(milliseconds, undefined, { signal });
    return name;
  });
const silent = { debug() {}, info() {}, warn() {}, error() {} };
const run = async () => (await world.executions()).at(-1)!;
const names = (count: number) => Array.from({ length: count }, (_, index) => `part-${index}`);

async function sequence(ctx: WorkflowContext, count: number, milliseconds: number): Promise<string[]> {
  const results: string[] = [];
  for (const name of names(count)) results.push(await note(ctx, name, milliseconds));
  return results;
}

describe('a run whose steps take longer than its function', () => {
  it('ends over several invocations of one attempt, and each step runs once', async () => {
    world.behaviour = (ctx) => sequence(ctx, 12, 100);
    await world.begin();
    const invocations = await world.finish(short);
    expect(invocations).toBeGreaterThan(1);
    expect(world.done).toEqual(names(12));
    expect(await world.executions()).toMatchObject([{ state: 'completed', attempt: 1, output: names(12), is_solo: false }]);
  });

  it('is handed back in between: pending, without a lease, in its slot, and rung at once', async () => {
    world.behaviour = (ctx) => sequence(ctx, 12, 100);
    await world.begin();
    const { started_at } = await run();
    expect(await world.invoke(short)).toEqual([]);
    const handedBack = await run();
    expect(handedBack).toMatchObject({
      state: 'pending',
      attempt: 1,
      lease_token: null,
      lease_expires_at: null,
      claimed_at: null,
      ring_count: 1,
    });
    expect(handedBack.started_at).toEqual(started_at ?? world.clock.now());
    expect(handedBack.running_ms).toBeGreaterThan(200);
    expect(world.doorbell.bells).toEqual([{ executionId: handedBack.id, queueUrl: pools.default.queueUrl }]);
    expect(await world.rows(sql`select status from waybill.work_queue`)).toEqual([{ status: 'dispatched' }]);
    expect(world.lines).toMatchObject([{ message: 'run goes on in another invocation', executionId: String(handedBack.id) }]);
  });

  it('leaves nothing behind that goes on by itself', async () => {
    const begun: string[] = [];
    world.behaviour = async (ctx) => {
      begun.push('body');
      await sequence(ctx, 12, 100);
      begun.push('end');
    };
    await world.begin();
    const invocations = await world.finish(short);
    expect(begun).toEqual([...Array.from({ length: invocations }, () => 'body'), 'end']);
  });

  it('whose bell was lost between the commit and the ring is rung by the manager', async () => {
    world.behaviour = (ctx) => sequence(ctx, 8, 100);
    await world.begin();
    const deaf = { ...recordDoorbell(), ringExecutions: () => Promise.reject(new Error('no queue')) };
    await world.invoke({ ...short, doorbell: deaf });
    expect(world.doorbell.bells).toEqual([]);
    await world.manage();
    expect(world.doorbell.bells).toEqual([]);
    world.clock.advance(31);
    await world.manage();
    expect(world.doorbell.bells).toHaveLength(1);
    await world.finish(short);
    expect(world.done).toEqual(names(8));
  });

  it('waits for a step that is in progress before it is handed back', async () => {
    world.behaviour = async (ctx) => {
      const long = note(ctx, 'long', 520);
      await sequence(ctx, 20, 50);
      await long;
    };
    await world.begin();
    await world.invoke(short);
    expect(await run()).toMatchObject({ state: 'pending' });
    expect(await world.steps()).toMatchObject([
      { name: 'long', state: 'completed' },
      ...world.done.slice(1).map(() => ({ state: 'completed' })),
    ]);
  });

  it('in which a step is cut off, but another has ended, runs that one again in the next invocation', async () => {
    world.behaviour = async (ctx) => {
      await note(ctx, 'first');
      await note(ctx, 'second', world.done.filter((name) => name === 'second').length ? 0 : 5_000);
      return 'done';
    };
    await world.begin();
    expect(await world.invoke(short)).toEqual([]);
    expect(await world.steps()).toMatchObject([{ state: 'completed' }, { name: 'second', state: 'running' }]);
    await world.finish(short);
    expect(world.done).toEqual(['first', 'second', 'second']);
    expect(await run()).toMatchObject({ state: 'completed', attempt: 1 });
  });

  it('takes the same way again after a step that failed and was dealt with', async () => {
    world.behaviour = async (ctx) => {
      const charged = await ctx
        .step('charge', () => {
          world.done.push('charge');
          throw new RangeError('declined');
        })
        .then(
          () => 'charged',
          ({ message, errorName }) => `${errorName}: ${message}`,
        );
      await sequence(ctx, 8, 100);
      return charged;
    };
    await world.begin();
    expect(await world.finish(short)).toBeGreaterThan(1);
    expect(world.done).toEqual(['charge', ...names(8)]);
    expect(await run()).toMatchObject({ state: 'completed', output: 'RangeError: declined' });
  });

  it('began when its first invocation did, which is what its manifest remembers', async () => {
    world.behaviour = (ctx) => sequence(ctx, 8, 100);
    await world.begin();
    const startedAt = world.clock.now();
    await world.invoke(short);
    world.clock.advance(60);
    await world.finish(short);
    const [manifest] = await world.rows(sql`select last_success_started_at from waybill.manifest`);
    expect(manifest).toEqual({ last_success_started_at: startedAt });
  });
});

describe('an invocation in which no step ended', () => {
  it('because one took too long fails as step_too_long, which another attempt may mend', async () => {
    world.behaviour = (ctx) => note(ctx, 'endless', 60_000);
    await world.begin();
    expect(await world.invoke(short)).toMatchObject([{ state: 'failed', failureCode: 'step_too_long', next: 'retry' }]);
    expect(await run()).toMatchObject({
      failure_step: 'endless',
      failure_message: "step 'endless' did not end within one invocation: do less in it, or raise the pool's timeout",
    });
    expect(await world.steps()).toMatchObject([{ state: 'failed', failure_code: 'run_ended' }]);
  });

  it('because one did not even notice its signal fails in the same way', async () => {
    world.behaviour = (ctx) => ctx.step('deaf', () => new Promise(() => {}));
    await world.begin();
    expect(await world.invoke(short)).toMatchObject([{ failureCode: 'step_too_long' }]);
  });

  it('because what comes before took too long fails in the same way', async () => {
    world.behaviour = async (ctx) => {
      await takeMs(610);
      await note(ctx, 'late');
    };
    await world.begin();
    expect(await world.invoke({ remainingMs: 900, timings: { graceMs: 150 } })).toMatchObject([
      { failureCode: 'step_too_long', failureMessage: expect.stringContaining('what comes before the next one took too long') },
    ]);
  });

  it('of a continuation fails too: it would get no further in another', async () => {
    world.behaviour = async (ctx) => {
      await note(ctx, 'first');
      await note(ctx, 'endless', 60_000);
    };
    await world.begin();
    expect(await world.invoke(short)).toEqual([]);
    expect(await world.invoke(short)).toMatchObject([{ failureCode: 'step_too_long', attempt: 1 }]);
  });

  it('of a workflow without steps fails as deadline', async () => {
    world.behaviour = ({ signal }) => takeMs(60_000, undefined, { signal });
    await world.begin();
    expect(await world.invoke(short)).toMatchObject([{ failureCode: 'deadline' }]);
  });
});

describe('a step that may be tried again', () => {
  const act = async () => {
    world.done.push('flaky');
    throw new Error('not yet');
  };

  it('has its tries in the next invocation when this one has no time left and got anywhere', async () => {
    world.behaviour = async (ctx) => {
      await note(ctx, 'first');
      await ctx.step('flaky', act, { retries: 3 }).catch(() => {});
    };
    await world.begin();
    expect(await world.invoke(short)).toEqual([]);
    expect(world.done.slice(0, 2)).toEqual(['first', 'flaky']);
    expect(await world.steps()).toMatchObject([{ name: 'first' }, { name: 'flaky', state: 'running' }]);
    world.done.length = 0;
    expect(await world.invoke({ remainingMs: 10_000 })).toMatchObject([{ state: 'completed' }]);
    expect(world.done).toEqual(['flaky', 'flaky', 'flaky', 'flaky']);
  });

  it('is not tried again when there is no time for it, and says that it could have been', async () => {
    const { signal } = new AbortController();
    const step = { path: 'flaky', act, signal, graceMs: 0, createRedact: () => (text: string) => text, isTooLate: () => true, log: silent };
    expect(await performStep({ ...step, options: { retries: 3 } })).toMatchObject({ failure: { message: 'not yet' }, mayTryAgain: true });
    expect(await performStep({ ...step, options: {} })).toMatchObject({ mayTryAgain: false });
    expect(world.done).toEqual(['flaky', 'flaky']);
  });
});

describe('a timeout', () => {
  it('counts the time of all invocations', async () => {
    await world.sync([{ externalId: 'job', schedule: { type: 'none' }, timeoutSeconds: 1, maxAttempts: 1 }]);
    world.behaviour = (ctx) => sequence(ctx, 100, 100);
    await world.begin();
    const invocations = await world.finish(short);
    expect(invocations).toBeGreaterThan(1);
    const execution = await run();
    expect(execution).toMatchObject({
      state: 'failed',
      failure_code: 'timeout',
      failure_message: 'the run took longer than its timeout of 1 s',
    });
    expect(execution.running_ms).toBeGreaterThanOrEqual(1_000);
    expect(execution.running_ms).toBeLessThan(1_500);
  });

  it('that is used up leaves a continuation no time at all', async () => {
    await world.sync([{ externalId: 'job', schedule: { type: 'none' }, timeoutSeconds: 1, maxAttempts: 1 }]);
    world.behaviour = (ctx) => sequence(ctx, 100, 100);
    await world.begin();
    await world.invoke(short);
    await world.rows(sql`update waybill.execution set running_ms = 2000`);
    const before = world.done.length;
    expect(await world.invoke(short)).toMatchObject([{ failureCode: 'timeout' }]);
    expect(world.done).toHaveLength(before);
  });
});

describe('a cancellation', () => {
  it('that was requested before the run is handed back ends it instead', async () => {
    world.behaviour = async (ctx) => {
      await note(ctx, 'first', 100);
      expect(await cancelExecution(world.context, ctx.execution.id)).toEqual({ outcome: 'requested' });
      await sequence(ctx, 20, 100);
    };
    await world.begin();
    expect(await world.invoke({ ...short, timings: { firstRenewalMs: 60_000 } })).toMatchObject([{ state: 'cancelled', next: null }]);
    expect(await run()).toMatchObject({ state: 'cancelled', failure_message: 'the run was cancelled' });
  });

  it.each([
    [0, 'requested'],
    [1, 'cancelled'],
    [2, 'cancelled'],
  ])('just when the run is handed back, before statement %i, ends it all the same: it was %s', async (number, outcome) => {
    world.behaviour = (ctx) => sequence(ctx, 8, 100);
    await world.begin();
    let cancelling: Promise<{ outcome: string }> | undefined;
    const database = beforeStatement(world.database, number, async () => {
      cancelling = cancelExecution(world.context, String((await run()).id));
      await settlesOrWaits(world.database, cancelling);
    });
    await world.invoke({ remainingMs: 900, database, timings: { graceMs: 30, firstRenewalMs: 60_000 } });
    expect(database.hasInterrupted()).toBe(true);
    expect(await cancelling).toEqual({ outcome });
    await world.finish(short);
    expect(await run()).toMatchObject({ state: 'cancelled' });
  });

  it('of a run that was handed back happens at once', async () => {
    world.behaviour = (ctx) => sequence(ctx, 20, 100);
    await world.begin();
    await world.invoke(short);
    const { id, running_ms } = await run();
    world.clock.advance(60);
    expect(await cancelExecution(world.context, String(id))).toEqual({ outcome: 'cancelled' });
    expect(await run()).toMatchObject({ state: 'cancelled', running_ms });
    expect(await world.invoke(short)).toEqual([]);
    expect(await world.rows(sql`select from waybill.work_queue where status = 'queued'`)).toEqual([]);
  });
});

describe('a run whose executor died', () => {
  it('goes on in the next attempt after the steps that were completed', async () => {
    world.behaviour = async (ctx) => {
      await note(ctx, 'first');
      if (ctx.attempt === 1) await new Promise(() => {});
      return note(ctx, 'second');
    };
    await world.begin();
    void world.invoke();
    await expect.poll(() => world.steps(), { timeout: 5_000 }).toMatchObject([{ state: 'completed' }]);
    world.clock.advance(46);
    expect((await world.manage()).recovered).toMatchObject([{ state: 'failed', failureCode: 'lease_lost', next: 'retry' }]);
    await world.finish();
    expect(world.done).toEqual(['first', 'second']);
    expect(await world.executions()).toMatchObject([{ state: 'failed' }, { state: 'completed', attempt: 2 }]);
  });

  it('is remembered since its first attempt, which the steps that were completed then go back to', async () => {
    world.behaviour = async (ctx) => {
      await note(ctx, 'read');
      if (ctx.attempt === 1) throw new Error('not yet');
    };
    await world.begin();
    const startedAt = world.clock.now();
    await world.invoke();
    world.clock.advance(600);
    await world.finish();
    expect((await run()).started_at).not.toEqual(startedAt);
    expect(await world.rows(sql`select last_success_started_at from waybill.manifest`)).toEqual([{ last_success_started_at: startedAt }]);
  });

  it('together with others goes on in the same attempt, since its first start, after the steps that were completed', async () => {
    await world.sync(['job', 'other'].map((externalId) => ({ externalId, schedule: { type: 'none' } as const })));
    world.behaviour = async (ctx) => {
      await note(ctx, `first of ${ctx.execution.manifest}`);
      if (world.clock.now().getTime() === startedAt.getTime()) await new Promise(() => {});
      return note(ctx, `second of ${ctx.execution.manifest}`);
    };
    const startedAt = world.clock.now();
    await world.begin();
    await trigger(world.context, { externalId: 'other' });
    await world.dispatch();
    void world.invoke();
    await expect.poll(async () => (await world.steps()).map(({ state }) => state), { timeout: 5_000 }).toEqual(['completed', 'completed']);
    world.clock.advance(46);
    await world.manage();
    expect(await world.executions()).toMatchObject([
      { state: 'pending', is_solo: true, running_ms: 0, started_at: startedAt },
      { state: 'pending', is_solo: true, running_ms: 0, started_at: startedAt },
    ]);
    await world.finish();
    expect(world.done.toSorted()).toEqual(['first of job', 'first of other', 'second of job', 'second of other']);
  });

  it('together with others has its whole timeout when it runs alone, however long its lease took to run out', async () => {
    await world.sync(['job', 'other'].map((externalId) => ({ externalId, schedule: none, timeoutSeconds: 30, maxAttempts: 1 })));
    const startedAt = world.clock.now().getTime();
    world.behaviour = async (ctx) => {
      world.done.push(ctx.execution.manifest!);
      if (world.clock.now().getTime() === startedAt) await new Promise(() => {});
      await takeMs(20, undefined, { signal: ctx.signal });
    };
    await world.begin();
    await trigger(world.context, { externalId: 'other' });
    await world.dispatch();
    void world.invoke();
    await expect.poll(() => world.done).toHaveLength(2);
    world.clock.advance(46);
    await world.manage();
    await world.finish();
    expect(await world.executions()).toMatchObject([{ state: 'completed' }, { state: 'completed' }]);
  });
});
