import { beforeEach, describe, expect, it } from 'vitest';
import { sql } from '../../shared/db/sql.ts';
import { dispatcherCycle } from '../../shared/dispatcher/cycle.ts';
import { changeGroup } from '../../shared/operations/change-group.ts';
import { trigger } from '../../shared/operations/trigger.ts';
import { beforeStatement } from '../engine/interleave.ts';
import { pools } from '../support/engine.ts';
import { usePlans } from './use-plans.ts';

const world = usePlans();

describe('starting a plan', () => {
  beforeEach(() => world.plan('plan', [['import'], ['sync'], ['left', 'right']]));

  it('makes its execution and all of its steps, and releases the first group', async () => {
    await world.begin();
    const plan = await world.latest();
    expect(plan).toMatchObject({
      state: 'in_progress',
      current_group_index: 0,
      group_count: 3,
      run_id: plan.id,
      attempt: 1,
      origin: 'manual',
    });
    const steps = await world.steps();
    expect(steps.map(({ step_name, group_index, position, state }) => [step_name, group_index, position, state])).toEqual([
      ['import', 0, 0, 'pending'],
      ['sync', 1, 0, 'waiting'],
      ['left', 2, 0, 'waiting'],
      ['right', 2, 1, 'waiting'],
    ]);
    for (const step of steps)
      expect(step).toMatchObject({
        parent_id: plan.id,
        root_id: plan.id,
        run_id: step.id,
        attempt: 1,
        origin: 'plan',
        initiator_name: 'Ada',
      });
    expect(world.doorbell.bells).toMatchObject([{ executionId: steps[0]!.id }]);
  });

  it('runs its groups in order and completes', async () => {
    await world.begin();
    await world.drain();
    expect(world.began).toEqual(['import', 'sync', 'left', 'right']);
    expect(await world.latest()).toMatchObject({ state: 'completed', current_group_index: 2, failure_code: null });
    expect(await world.manifest('plan')).toMatchObject({ success_count: 1, failed_count: 0 });
    expect((await world.steps()).map(({ output }) => output)).toEqual(['import', 'sync', 'left', 'right'].map((did) => ({ did })));
  });

  it('needs no slot and no pool of its own: a full group holds its steps, not the plan', async () => {
    await changeGroup(world.context, 'plan', { maxActiveJobs: 1 });
    await world.plan('other', [[{ name: 'blocker', group: 'plan' }]]);
    await world.begin('other');
    await world.begin();
    expect(await world.latest()).toMatchObject({ state: 'in_progress' });
    expect(await world.states()).toMatchObject({ import: 'waiting' });
    expect(await world.queued()).toEqual(['import']);
    await world.drain();
    expect(await world.latest()).toMatchObject({ state: 'completed' });
  });

  it('waits while its group is disabled or everything is paused', async () => {
    await changeGroup(world.context, 'plan', { isEnabled: false });
    await world.begin();
    expect(await world.plans()).toEqual([]);
    await changeGroup(world.context, 'plan', { isEnabled: true });
    await world.rows(sql`update waybill.capacity set is_paused = true`);
    await world.dispatch();
    expect(await world.plans()).toEqual([]);
    await world.rows(sql`update waybill.capacity set is_paused = false`);
    await world.dispatch();
    expect(await world.plans()).toHaveLength(1);
  });

  it('killed at any statement, it starts as a whole or not at all, and later once', async () => {
    for (let number = 0; number < 30; number++) {
      await world.empty();
      await world.plan('plan', [['import'], ['sync']]);
      await trigger(world.context, { externalId: 'plan' });
      const database = beforeStatement(world.database, number, () => Promise.reject(new Error('killed')));
      await dispatcherCycle({ database, doorbell: world.doorbell, pools }).catch(() => undefined);
      if (!database.hasInterrupted()) return expect(number).toBeGreaterThan(8);
      const plans = await world.plans();
      expect(plans.length ? await world.steps() : []).toHaveLength(plans.length * 2);
      expect(plans.length ? await world.queued() : ['import']).toEqual(['import']);
      world.behaviour = () => 'done';
      await world.drain();
      expect(await world.plans()).toMatchObject([{ state: 'completed' }]);
    }
  });

  it('two dispatchers at once start it once', async () => {
    for (let round = 0; round < 10; round++) {
      await trigger(world.context, { externalId: 'plan' });
      await Promise.all([world.dispatch(), world.dispatch(), world.dispatch()]);
      expect(await world.steps()).toHaveLength(4);
      await world.drain();
      expect(await world.plans()).toHaveLength(round + 1);
    }
  });
});

describe('steps that are disabled', () => {
  it('are skipped and seen, and a group of such steps is passed over', async () => {
    await world.plan('plan', [
      [{ name: 'a', isEnabled: false }],
      ['b', { name: 'c', isEnabled: false }],
      [{ name: 'd', isEnabled: false }],
      ['e'],
    ]);
    await world.begin();
    expect(await world.latest()).toMatchObject({ current_group_index: 1 });
    await world.drain();
    expect(world.began).toEqual(['b', 'e']);
    expect(await world.states()).toEqual({ a: 'skipped', b: 'completed', c: 'skipped', d: 'skipped', e: 'completed' });
    expect(await world.latest()).toMatchObject({ state: 'completed' });
  });

  it('leave nothing to run: the plan has succeeded at once, and its dependents are due', async () => {
    await world.plan('plan', [[{ name: 'a', isEnabled: false }], [{ name: 'b', isEnabled: false }]]);
    await world.plan('empty', []);
    for (const externalId of ['plan', 'empty']) {
      await world.sync([{ externalId: `after-${externalId}`, schedule: { type: 'dependent', dependsOn: [externalId], mode: 'all' } }]);
      await world.manage();
      world.doorbell.managerPokes.length = 0;
      await world.begin(externalId);
      expect(await world.latest(externalId)).toMatchObject({ state: 'completed' });
      expect(world.doorbell.managerPokes).toHaveLength(1);
      world.behaviour = () => 'done';
      await world.drain();
      expect(await world.runs(`after-${externalId}`)).toMatchObject([{ state: 'completed' }]);
    }
  });
});

describe('a definition that changes while the plan runs', () => {
  it('does not touch it: what was there when it started runs', async () => {
    await world.plan('plan', [['a'], ['b', { name: 'c', continueOnFailure: true }], ['d']]);
    await world.begin();
    await world.plan('plan', [['x'], [{ name: 'b', isEnabled: false, input: { step: 'edited' } }]]);
    await world.drain();
    expect(world.began).toEqual(['a', 'b', 'c', 'd']);
    expect(await world.latest()).toMatchObject({ state: 'completed', group_count: 3 });
    await world.begin();
    await world.drain();
    expect(await world.states()).toEqual({ x: 'completed', b: 'skipped' });
  });
});
