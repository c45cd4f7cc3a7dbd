import { beforeEach, describe, expect, it } from 'vitest';
import { sql } from '../../shared/db/sql.ts';
import { trigger } from '../../shared/operations/trigger.ts';
import { removeManifests } from '../../shared/transitions/remove-manifests.ts';
import { following, none } from '../engine/use-world.ts';
import { dependent, everyMinute, fail, usePlans } from './use-plans.ts';

const world = usePlans();

/** Jobs do what they are told, steps what the plan says. */
beforeEach(() => {
  const steps = world.behaviour;
  world.behaviour = (ctx, input) => ((input as { step?: string }).step ? steps(ctx, input) : 'done');
});

describe('a plan as a parent', () => {
  beforeEach(async () => {
    await world.plan('plan', [['a', { name: 'b', continueOnFailure: true }], ['c']]);
    await world.sync([{ externalId: 'after', schedule: following('plan') }]);
    await world.drain();
  });

  it('lets its dependents run once, after its last step, and none after a step', async () => {
    await world.begin();
    await world.deliver();
    await world.manage();
    expect(await world.entries('after')).toEqual([]);
    await world.drain();
    expect(await world.runs('after')).toMatchObject([{ state: 'completed' }]);
    expect(await world.manifest('plan')).toMatchObject({ success_count: 1 });
  });

  it('that completed with warnings has succeeded', async () => {
    world.acts.b = fail;
    await world.begin();
    await world.drain();
    expect(await world.latest()).toMatchObject({ state: 'completed_with_warnings' });
    expect(await world.runs('after')).toHaveLength(1);
  });

  it('that failed fires nothing', async () => {
    world.acts.c = fail;
    await world.begin();
    await world.drain();
    expect(await world.runs('after')).toEqual([]);
  });
});

describe('a plan as a dependent', () => {
  beforeEach(async () => {
    await world.sync([{ externalId: 'parent', schedule: none }]);
    await world.plan('plan', [['a'], ['b']], dependent);
    await world.depend('plan', 'parent');
  });

  it('runs after its parent, and once more for what the parent achieved meanwhile', async () => {
    await trigger(world.context, { externalId: 'parent' });
    await world.cycle();
    await world.manage();
    await world.dispatch();
    expect(await world.latest()).toMatchObject({ state: 'in_progress', origin: 'dependency' });
    await trigger(world.context, { externalId: 'parent' });
    await world.drain();
    expect(await world.plans()).toMatchObject([{ state: 'completed' }, { state: 'completed' }]);
    expect(world.began).toEqual(['a', 'b', 'a', 'b']);
  });

  it('that fails has had its turn: it waits for the next success of its parent', async () => {
    world.acts.a = fail;
    await trigger(world.context, { externalId: 'parent' });
    await world.drain();
    expect(await world.plans()).toMatchObject([{ state: 'failed' }]);
    await trigger(world.context, { externalId: 'parent' });
    await world.drain();
    expect(await world.plans()).toHaveLength(2);
  });

  it('after another plan makes a chain of plans', async () => {
    await world.plan('second', [['x']], dependent);
    await world.depend('second', 'plan');
    await trigger(world.context, { externalId: 'parent' });
    await world.drain();
    expect(world.began).toEqual(['a', 'b', 'x']);
    expect(await world.latest('second')).toMatchObject({ state: 'completed' });
  });
});

describe('overlap', () => {
  it('skips a timed tick while the plan runs, and records why', async () => {
    await world.plan('plan', [['a'], ['b']], everyMinute);
    await world.manage();
    await world.dispatch();
    world.clock.set(world.at('00:01:00'));
    await world.manage();
    expect(await world.manifest('plan')).toMatchObject({ last_skip_reason: 'overlap', skip_count: 1 });
    await world.drain();
    expect(await world.plans()).toMatchObject([{ state: 'completed', occurrence_at: world.at('00:00:00') }]);
    world.clock.set(world.at('00:02:00'));
    await world.drain();
    expect(await world.plans()).toMatchObject([{}, { occurrence_at: world.at('00:02:00'), origin: 'schedule' }]);
  });

  it('queues a plan that is triggered while it runs behind it, and says so', async () => {
    await world.plan('plan', [['a'], ['b']]);
    await world.begin();
    const { id } = await world.latest();
    const first = await trigger(world.context, { externalId: 'plan' });
    expect(first).toMatchObject({ outcome: 'queued', behindExecutionId: String(id) });
    expect(await trigger(world.context, { externalId: 'plan' })).toEqual({ ...first, outcome: 'already_queued' });
    await world.dispatch();
    expect(await world.plans()).toHaveLength(1);
    await world.drain();
    expect(world.began).toEqual(['a', 'b', 'a', 'b']);
    expect(await world.plans()).toMatchObject([{ state: 'completed' }, { state: 'completed' }]);
  });

  it('of misfired plans runs them one after the other', async () => {
    await world.plan('plan', [['a', 'b'], ['c']], { ...everyMinute, misfire_policy: 'fire_all', misfire_limit: 3 });
    world.clock.set(world.at('00:02:30'));
    await world.drain();
    expect((await world.plans()).map(({ occurrence_at }) => occurrence_at)).toEqual(['00:00:00', '00:01:00', '00:02:00'].map(world.at));
    expect(world.began.join('')).toMatch(/^((ab|ba)c){3}$/);
  });
});

describe('a plan whose interval counts from its end', () => {
  it('rests while it runs, and wakes the manager when it ends', async () => {
    await world.plan('plan', [['a'], ['b']], { ...everyMinute, anchor: 'completion' });
    await world.manage();
    await world.dispatch();
    await world.deliver();
    await world.dispatch();
    expect(await world.manifest('plan')).toMatchObject({ next_due_at: null });
    world.clock.set(world.at('00:05:00'));
    world.doorbell.managerPokes.length = 0;
    await world.deliver();
    expect(await world.latest()).toMatchObject({ state: 'completed' });
    expect(await world.manifest('plan')).toMatchObject({ next_due_at: world.at('00:06:00') });
    expect(world.doorbell.managerPokes).toHaveLength(1);
  });
});

describe('what a step is told', () => {
  it('is the plan’s occurrence, and when the last successful run of the plan began', async () => {
    await world.plan('plan', [['a'], ['b']], everyMinute);
    const told: unknown[] = [];
    world.acts.b = (ctx) =>
      told.push({ manifest: ctx.execution.manifest, at: ctx.occurrenceAt, since: ctx.previousSuccess?.startedAt ?? null });
    await world.drain();
    world.clock.set(world.at('00:01:00'));
    await world.drain();
    expect(told).toEqual([
      { manifest: 'plan', at: world.at('00:00:00'), since: null },
      { manifest: 'plan', at: world.at('00:01:00'), since: world.at('00:00:00') },
    ]);
  });
});

describe('a plan that is no longer declared', () => {
  it('goes on to its end and is deleted with it', async () => {
    await world.plan('plan', [['a'], ['b']]);
    await world.begin();
    const { id } = await world.manifest('plan');
    const removed = await world.database.transaction((db) => removeManifests(db, [id as never], 'the manifest is no longer declared'));
    expect(removed).toMatchObject([{ isRetiring: true }]);
    await world.drain();
    expect(world.began).toEqual(['a', 'b']);
    expect(await world.latest()).toMatchObject({ state: 'completed' });
    expect((await world.manifest('plan')).deleted_at).not.toBeNull();
  });
});

describe('the net under plans', () => {
  it('goes on with a plan that nothing moves, whether a release or an end got lost', async () => {
    await world.plan('plan', [['a'], ['b']]);
    await world.begin();
    await world.rows(
      sql`update waybill.execution set state = 'completed', started_at = waybill.now(), finished_at = waybill.now() where state = 'pending'`,
    );
    await world.manage();
    expect(await world.queued()).toEqual(['b']);
    await world.rows(sql`update waybill.work_queue set status = 'cancelled', cancelled_at = waybill.now() where status = 'queued'`);
    await world.manage();
    expect(await world.queued()).toEqual(['b']);
    await world.dispatch();
    await world.rows(
      sql`update waybill.execution set state = 'completed', started_at = waybill.now(), finished_at = waybill.now() where state = 'pending'`,
    );
    const { recovered } = await world.manage();
    expect(recovered).toMatchObject([{ state: 'completed', executionId: (await world.latest()).id }]);
    expect(await world.manifest('plan')).toMatchObject({ success_count: 1 });
  });

  it('has nothing to do for a plan whose steps wait, sleep, run or are held', async () => {
    await world.plan('plan', [['a', { name: 'b', group: 'off' }], ['c']]);
    await world.rows(sql`update waybill.manifest_group set is_enabled = false where name = 'off'`);
    world.acts.a = (ctx) => ctx.sleep('nap', 3_600);
    await world.begin();
    const before = await world.steps();
    await world.manage();
    expect(await world.steps()).toEqual(before);
    await world.deliver();
    const asleep = await world.steps();
    await world.manage();
    expect(await world.steps()).toEqual(asleep);
    expect(await world.queued()).toHaveLength(2);
  });
});
