import { setTimeout as takeMs } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { sql } from '../../shared/db/sql.ts';
import type { WorkflowContext } from '../../shared/model/workflow.ts';
import { cancelEntry } from '../../shared/operations/cancel-entry.ts';
import { cancelExecution } from '../../shared/operations/cancel-execution.ts';
import { changeGroup } from '../../shared/operations/change-group.ts';
import { disableManifest } from '../../shared/operations/switch-manifest.ts';
import { trigger } from '../../shared/operations/trigger.ts';
import { why } from '../../shared/operations/why.ts';
import { beforeStatement, settlesOrWaits } from '../engine/interleave.ts';
import { everyMinute, none } from '../engine/use-world.ts';
import { pools, recordDoorbell } from '../support/engine.ts';
import { useSteps } from './use-steps.ts';

const world = useSteps();
const run = async () => (await world.executions()).at(-1)!;
const entry = async () => (await world.rows<Record<string, unknown>>(sql`select * from waybill.work_queue order by id desc limit 1`))[0]!;
const note = (ctx: WorkflowContext, name: string) => ctx.step(name, () => void world.done.push(name));
const later = (seconds: number) => new Date(world.clock.now().getTime() + seconds * 1000);

/** Works, rests for an hour, works again. */
async function rest(ctx: WorkflowContext) {
  await note(ctx, 'before');
  await ctx.sleep('hour', { hours: 1 });
  await note(ctx, 'after');
  return 'rested';
}

async function fallAsleep(): Promise<void> {
  world.behaviour = rest;
  await world.begin();
  expect(await world.invoke()).toEqual([]);
  expect(await run()).toMatchObject({ state: 'waiting' });
}

describe('a run that sleeps', () => {
  it('waits without lease and slot, and its own entry is queued for the instant', async () => {
    const resumeAt = later(3_600);
    await fallAsleep();
    const execution = await run();
    expect(execution).toMatchObject({
      state: 'waiting',
      lease_token: null,
      lease_expires_at: null,
      claimed_at: null,
      available_at: resumeAt,
    });
    expect(await entry()).toMatchObject({
      id: execution.work_queue_id,
      status: 'queued',
      execution_id: execution.id,
      available_at: resumeAt,
      dispatched_at: null,
    });
    expect(await world.steps()).toMatchObject([
      { name: 'before' },
      { name: 'hour', kind: 'sleep', state: 'running', output: expect.stringMatching(/^2026-03-02T01:00:00/) },
    ]);
    expect(world.doorbell.bells).toEqual([]);
    expect(await why(world.database, 'job', pools)).toMatchObject({
      state: 'running',
      runsNow: false,
      reasons: [
        { code: 'sleeping', message: expect.stringContaining('01:00:00.000Z (in 60 minutes) and takes no slot') },
        { code: 'manual' },
      ],
    });
  });

  it('leaves its slot to others', async () => {
    const group = 'narrow';
    await world.sync(['job', 'other'].map((externalId) => ({ externalId, schedule: none, group })));
    await world.rows(sql`update waybill.manifest_group set max_active_jobs = 1`);
    await fallAsleep();
    const before = world.doorbell.dispatcherPokes;
    await trigger(world.context, { externalId: 'other' });
    await world.dispatch();
    expect(world.doorbell.bells).toHaveLength(1);
    expect(before).toBeGreaterThan(0);
  });

  it('goes on when its time has come, by the manager’s next look, and does nothing twice', async () => {
    await fallAsleep();
    world.clock.advance(3_599);
    await world.manage();
    await world.dispatch();
    expect(world.doorbell.bells).toEqual([]);
    world.clock.advance(1);
    const pokes = world.doorbell.dispatcherPokes;
    await world.manage();
    expect(world.doorbell.dispatcherPokes).toBe(pokes + 1);
    await world.dispatch();
    expect(await world.invoke()).toMatchObject([{ state: 'completed', attempt: 1 }]);
    expect(world.done).toEqual(['before', 'after']);
    expect(await world.steps()).toMatchObject([{}, { name: 'hour', state: 'completed', finished_at: world.clock.now() }, {}]);
    expect(await world.executions()).toMatchObject([{ output: 'rested' }]);
  });

  it('pokes the manager, which arms a wake for an instant before its next look', async () => {
    world.behaviour = (ctx) => ctx.sleep('moment', 12);
    await world.begin();
    world.doorbell.managerPokes.length = 0;
    await world.invoke();
    expect(world.doorbell.managerPokes).toEqual([{}]);
    world.doorbell.managerPokes.length = 0;
    await world.manage();
    expect(world.doorbell.managerPokes).toEqual([{ delaySeconds: 12, generation: 1 }]);
    world.clock.advance(12);
    await world.manage();
    await world.dispatch();
    expect(await world.invoke()).toMatchObject([{ state: 'completed' }]);
  });

  it('goes on even if everything was killed right after the commit', async () => {
    world.behaviour = rest;
    await world.begin();
    const deaf = {
      ...recordDoorbell(),
      pokeDispatcher: () => Promise.reject(new Error('killed')),
      pokeManager: () => Promise.reject(new Error('killed')),
    };
    await world.invoke({ doorbell: deaf });
    world.clock.advance(3_600);
    await world.manage();
    await world.dispatch();
    expect(await world.invoke()).toMatchObject([{ state: 'completed' }]);
  });

  it('whose attempt fails afterwards does not sleep again', async () => {
    world.behaviour = async (ctx) => {
      await ctx.sleep('hour', { hours: 1 });
      if (ctx.attempt === 1) throw new Error('not yet');
      return 'rested';
    };
    await world.begin();
    await world.invoke();
    world.clock.advance(3_600);
    await world.dispatch();
    await world.invoke();
    const wokenAt = world.clock.now();
    await world.finish();
    expect(await run()).toMatchObject({ state: 'completed', attempt: 2 });
    expect(world.clock.now().getTime() - wokenAt.getTime()).toBeLessThan(60_000);
  });

  it('whose attempt dies before it has slept enough sleeps for the rest in the next one', async () => {
    world.behaviour = async (ctx) => {
      const sleeping = ctx.sleep('hour', { hours: 1 });
      if (ctx.attempt === 1) await ctx.step('hang', () => new Promise(() => {}));
      await sleeping;
    };
    await world.begin();
    const resumeAt = later(3_600);
    void world.invoke();
    await expect.poll(async () => (await world.steps()).length, { timeout: 5_000 }).toBe(2);
    world.clock.advance(46);
    await world.manage();
    world.clock.advance(1);
    await world.dispatch();
    await world.invoke();
    expect(await run()).toMatchObject({ state: 'waiting', attempt: 2, available_at: resumeAt });
  });

  it('sleeps although a step of that name failed in an earlier attempt', async () => {
    world.behaviour = async (ctx) => {
      if (ctx.attempt === 1) await ctx.step('pause', () => Promise.reject(new Error('no')));
      await ctx.sleep('pause', { hours: 1 });
    };
    await world.begin();
    await world.invoke();
    world.clock.advance(1);
    await world.dispatch();
    await world.invoke();
    expect(await run()).toMatchObject({ state: 'waiting', attempt: 2, available_at: later(3_600) });
    expect(await world.steps()).toMatchObject([{ name: 'pause', kind: 'sleep', state: 'running', started_at: world.clock.now() }]);
  });

  it('does not count its rest as running', async () => {
    await world.sync([{ externalId: 'job', schedule: none, timeoutSeconds: 30, maxAttempts: 1 }]);
    await fallAsleep();
    world.clock.advance(3_600);
    await world.dispatch();
    expect(await world.invoke()).toMatchObject([{ state: 'completed', runningMs: expect.toSatisfy((ms: number) => ms < 10_000) }]);
  });

  it('overlaps with the ticks of its schedule, and a trigger queues behind it', async () => {
    await world.sync([{ externalId: 'job', schedule: everyMinute }]);
    world.behaviour = rest;
    await world.manage();
    await world.dispatch();
    await world.invoke();
    world.clock.advance(60);
    await world.manage();
    expect(await world.manifest('job')).toMatchObject({ last_skip_reason: 'overlap' });
    expect(await trigger(world.context, { externalId: 'job' })).toMatchObject({ outcome: 'queued' });
    await world.dispatch();
    expect(world.doorbell.bells).toEqual([]);
  });
});

describe('several sleeps', () => {
  it('one after the other are slept one after the other', async () => {
    world.behaviour = async (ctx) => {
      await ctx.sleep('first', 10);
      await ctx.sleep('second', { minutes: 1, seconds: 30 });
      return 'rested';
    };
    await world.begin();
    await world.invoke();
    world.clock.advance(10);
    await world.dispatch();
    await world.invoke();
    expect(await run()).toMatchObject({ state: 'waiting', available_at: later(90) });
    world.clock.advance(90);
    await world.dispatch();
    expect(await world.invoke()).toMatchObject([{ state: 'completed' }]);
  });

  it('side by side wake at the first instant, and go on sleeping for the others', async () => {
    world.behaviour = async (ctx) => {
      await Promise.all([
        ctx.sleep('short', 10).then(() => note(ctx, 'after short')),
        ctx.sleep('long', 100).then(() => note(ctx, 'after long')),
      ]);
    };
    await world.begin();
    const begunAt = world.clock.now().getTime();
    await world.invoke();
    expect(await run()).toMatchObject({ available_at: new Date(begunAt + 10_000) });
    world.clock.advance(10);
    await world.dispatch();
    await world.invoke();
    expect(world.done).toEqual(['after short']);
    expect(await run()).toMatchObject({ state: 'waiting', available_at: new Date(begunAt + 100_000) });
    world.clock.advance(90);
    await world.dispatch();
    expect(await world.invoke()).toMatchObject([{ state: 'completed' }]);
    expect(world.done).toEqual(['after short', 'after long']);
  });

  it('of no length are over at once', async () => {
    world.behaviour = (ctx) => ctx.sleep('none', 0);
    await world.begin();
    expect(await world.invoke()).toMatchObject([{ state: 'completed' }]);
  });
});

describe('a sleep beside a step', () => {
  it('waits for the step to end before the run leaves its function', async () => {
    world.behaviour = async (ctx) => {
      await Promise.all([ctx.sleep('hour', { hours: 1 }), ctx.step('work', () => takeMs(100, 'done'))]);
    };
    await world.begin();
    await world.invoke();
    expect(await run()).toMatchObject({ state: 'waiting' });
    expect((await world.steps()).map(({ name, state }) => [name, state])).toEqual([
      ['hour', 'running'],
      ['work', 'completed'],
    ]);
  });

  it('that takes longer is over in its own time, and the run goes on where it is', async () => {
    world.behaviour = async (ctx) => {
      const long = ctx.step('long', () => takeMs(400, 'done'));
      await ctx.sleep('moment', 0.1);
      await note(ctx, 'between');
      return long;
    };
    await world.begin();
    expect(await world.invoke()).toMatchObject([{ state: 'completed' }]);
    expect((await world.steps()).map(({ state }) => state)).toEqual(['completed', 'completed', 'completed']);
  });

  it('that wins a race ends the run without any rest', async () => {
    world.behaviour = (ctx) => Promise.race([ctx.step('work', () => takeMs(20, 'worked')), ctx.sleep('limit', 3_600)]);
    await world.begin();
    expect(await world.invoke()).toMatchObject([{ state: 'completed' }]);
    expect(await run()).toMatchObject({ output: 'worked' });
  });

  it('that is begun no more for lack of time is more urgent: the run goes on at once', async () => {
    world.behaviour = async (ctx) => {
      const resting = ctx.sleep('hour', { hours: 1 });
      for (const name of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']) await ctx.step(name, () => takeMs(100, name));
      await resting;
    };
    await world.begin();
    await world.invoke({ remainingMs: 900 });
    expect(await run()).toMatchObject({ state: 'pending' });
    await world.invoke({ remainingMs: 900 });
    expect(await run()).toMatchObject({ state: 'waiting' });
  });
});

it('code beside a sleep that asks for a step when the run is about to leave gets no answer, and the next invocation does it anew', async () => {
  const leaving = Promise.withResolvers<void>();
  world.behaviour = async (ctx) => {
    const beside = leaving.promise.then(() => note(ctx, 'beside'));
    await ctx.sleep('hour', { hours: 1 });
    await beside;
  };
  await world.begin();
  const database = beforeStatement(world.database, 0, async () => {
    leaving.resolve();
    await takeMs(50);
  });
  await world.invoke({ database });
  expect(await run()).toMatchObject({ state: 'waiting' });
  expect(world.done).toEqual([]);
  world.clock.advance(3_600);
  await world.dispatch();
  expect(await world.invoke()).toMatchObject([{ state: 'completed' }]);
  expect(world.done).toEqual(['beside']);
});

describe('a sleeper whose time has come', () => {
  const wake = async () => {
    world.clock.advance(3_600);
    await world.manage();
    await world.dispatch();
  };

  it('waits while its group is full', async () => {
    const group = 'narrow';
    await world.sync(['job', 'other'].map((externalId) => ({ externalId, schedule: none, group })));
    await world.rows(sql`update waybill.manifest_group set max_active_jobs = 1`);
    await fallAsleep();
    await trigger(world.context, { externalId: 'other' });
    await world.dispatch();
    await wake();
    expect((await world.executions()).map(({ state }) => state)).toEqual(['waiting', 'pending']);
    world.behaviour = (ctx) => (ctx.execution.manifest === 'job' ? rest(ctx) : 'other');
    await world.invoke();
    await world.dispatch();
    expect(await world.invoke()).toMatchObject([{ state: 'completed', externalId: 'job' }]);
  });

  it('waits while its group is disabled', async () => {
    await fallAsleep();
    await changeGroup(world.context, 'job', { isEnabled: false });
    await wake();
    expect(await run()).toMatchObject({ state: 'waiting' });
    await changeGroup(world.context, 'job', { isEnabled: true });
    await world.dispatch();
    expect(await world.invoke()).toMatchObject([{ state: 'completed' }]);
  });

  it('goes on although its manifest was disabled', async () => {
    await fallAsleep();
    await disableManifest(world.context, 'job');
    await wake();
    expect(await world.invoke()).toMatchObject([{ state: 'completed' }]);
  });

  it('goes on although its manifest is no longer declared, which goes with it', async () => {
    await fallAsleep();
    await world.sync([{ externalId: 'another', schedule: none }]);
    expect(await world.manifest('job')).toMatchObject({ deleted_at: null });
    await wake();
    expect(await world.invoke()).toMatchObject([{ state: 'completed' }]);
    expect((await world.manifest('job')).deleted_at).not.toBeNull();
  });
});

describe('a sleeper that is cancelled', () => {
  it('ends at once, and its entry with it', async () => {
    await fallAsleep();
    const { id, running_ms } = await run();
    world.clock.advance(600);
    expect(await cancelExecution(world.context, String(id))).toEqual({ outcome: 'cancelled' });
    expect(await run()).toMatchObject({ state: 'cancelled', running_ms });
    expect(await entry()).toMatchObject({ status: 'cancelled', cancel_reason: 'its execution was cancelled' });
    expect(await world.steps()).toMatchObject([{ state: 'completed' }, { state: 'failed', failure_code: 'run_ended' }]);
    world.clock.advance(3_600);
    await world.drain();
    expect(world.done).toEqual(['before']);
  });

  it('is cancelled by its own id, not by that of its entry', async () => {
    await fallAsleep();
    await expect(cancelEntry(world.context, String((await entry()).id))).rejects.toMatchObject({ code: 'belongs_to_execution' });
  });

  it('before it fell asleep does not fall asleep', async () => {
    world.behaviour = async (ctx) => {
      await cancelExecution(world.context, ctx.execution.id);
      await ctx.sleep('hour', { hours: 1 });
    };
    await world.begin();
    expect(await world.invoke({ timings: { firstRenewalMs: 60_000 } })).toMatchObject([{ state: 'cancelled', next: null }]);
    expect(await entry()).toMatchObject({ status: 'dispatched' });
  });

  it.each([[0, 'requested'], ...[1, 2, 3, 4].map((number): [number, string] => [number, 'cancelled'])])(
    'just when it falls asleep, before statement %i, ends cancelled all the same: it was %s',
    async (number, outcome) => {
      world.behaviour = rest;
      await world.begin();
      let cancelling: Promise<{ outcome: string }> | undefined;
      const database = beforeStatement(world.database, number, async () => {
        cancelling = cancelExecution(world.context, String((await run()).id));
        await settlesOrWaits(world.database, cancelling);
      });
      await world.invoke({ database, timings: { firstRenewalMs: 60_000 } });
      expect(database.hasInterrupted()).toBe(true);
      expect(await cancelling).toEqual({ outcome });
      await world.finish();
      expect(await run()).toMatchObject({ state: 'cancelled' });
      expect(world.done).toEqual(['before']);
    },
  );
});
