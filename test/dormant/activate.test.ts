import { beforeEach, describe, expect, it } from 'vitest';
import { sql } from '../../shared/db/sql.ts';
import { InvalidActivationError } from '../../shared/model/dormant.ts';
import { changeGroup } from '../../shared/operations/change-group.ts';
import { disableManifest } from '../../shared/operations/switch-manifest.ts';
import { trigger } from '../../shared/operations/trigger.ts';
import { everyMinute, fail, following, none } from '../engine/use-world.ts';
import { child, dormantBelow, parent, useDormants } from './use-dormants.ts';

const world = useDormants();
const one = [{ externalId: 'child', input: { asked: 1 } }];
const activated = { externalId: 'child', outcome: 'activated', queueEntryId: expect.stringMatching(/^[1-9][0-9]*$/) };
const skipped = (reason: string) => [{ externalId: 'child', outcome: 'skipped', reason }];
const inputs = async (externalId = 'child') => (await world.runs(externalId)).map(({ input }) => input);

beforeEach(() => world.sync([parent, child]));

describe('a dormant dependent', () => {
  it('is not queued by its parent’s success', async () => {
    const capability = await world.begin();
    await world.end(capability);
    await world.drain();
    expect(await world.manifest('parent')).toMatchObject({ success_count: 1 });
    expect(await world.entries('child')).toEqual([]);
  });

  it('is queued with the given input when its running parent activates it, and the dispatcher is poked', async () => {
    const capability = await world.begin();
    expect(await world.activate(capability, one)).toEqual([activated]);
    expect(world.doorbell.dispatcherPokes).toBe(1);
    expect(
      await world.rows(
        sql`select lane, origin, is_input_given, priority, consumed_counts, initiator_type, initiator_id, initiator_name from waybill.work_queue where origin = 'activation'`,
      ),
    ).toEqual([
      {
        lane: 'fresh',
        origin: 'activation',
        is_input_given: true,
        priority: 16,
        consumed_counts: {},
        initiator_type: 'execution',
        initiator_id: capability.executionId,
        initiator_name: 'parent',
      },
    ]);
    await world.dispatch();
    await world.deliver();
    expect(await inputs()).toEqual([{ asked: 1 }]);
    expect(await world.runs('parent')).toMatchObject([{ state: 'in_progress' }]);
  });

  it('takes its manifest’s input when none is given', async () => {
    await world.activate(await world.begin(), [{ externalId: 'child' }]);
    await world.drain();
    expect(await inputs()).toEqual([{ own: true }]);
  });

  it('takes null for an input', async () => {
    await world.activate(await world.begin(), [{ externalId: 'child', input: null }]);
    await world.drain();
    expect(await inputs()).toEqual([null]);
  });

  it('keeps the given input through a deployment and through its retries', async () => {
    await world.activate(await world.begin(), one);
    await world.sync([parent, { ...child, input: { own: 'changed' } }]);
    world.behaviour = fail;
    await world.dispatch();
    await world.deliver();
    world.behaviour = () => 'better';
    await world.drain();
    expect((await world.runs('child')).map(({ input, attempt, state }) => [input, attempt, state])).toEqual([
      [{ asked: 1 }, 1, 'failed'],
      [{ asked: 1 }, 2, 'completed'],
    ]);
  });

  it('runs as often as it is activated, once per activation', async () => {
    const capability = await world.begin();
    await world.activate(capability, one, { key: 'first' });
    await world.dispatch();
    await world.deliver();
    await world.activate(capability, [{ externalId: 'child', input: { asked: 2 } }], { key: 'second' });
    await world.dispatch();
    await world.deliver();
    await world.end(capability);
    await world.drain();
    expect(await inputs()).toEqual([{ asked: 1 }, { asked: 2 }]);
  });

  it('has its own dependents, which run after it', async () => {
    await world.sync([parent, child, { externalId: 'grandchild', schedule: following('child') }]);
    await world.activate(await world.begin(), one);
    await world.drain();
    expect(await world.runs('grandchild')).toMatchObject([{ state: 'completed', origin: 'dependency' }]);
  });

  it('goes before what has waited as long with the same priority', async () => {
    await world.sync([parent, { ...child, group: 'tight' }, { externalId: 'other', schedule: none, group: 'tight' }]);
    await changeGroup(world.context, 'tight', { maxActiveJobs: 1 });
    const capability = await world.begin();
    await trigger(world.context, { externalId: 'other' });
    await world.activate(capability, one);
    await world.dispatch();
    expect(await world.runs('child')).toMatchObject([{ state: 'pending' }]);
    expect(await world.runs('other')).toEqual([]);
  });

  it('is one step of its parent’s run', async () => {
    const capability = await world.begin();
    const [result] = await world.activate(capability, one, { key: 'import-7' });
    expect(await world.steps(capability)).toEqual([
      { name: 'activate:child#import-7', state: 'completed', output: { ...result, inputHash: expect.any(String) } },
    ]);
  });
});

describe('is skipped with the reason, and the others of the request are queued', () => {
  const both = [...one, { externalId: 'sibling', input: {} }];
  beforeEach(() => world.sync([parent, child, { externalId: 'sibling', schedule: dormantBelow('parent') }]));
  async function expectSkipped(reason: string): Promise<void> {
    const before = await world.entries('child');
    const capability = await world.begin();
    expect(await world.activate(capability, both)).toMatchObject([...skipped(reason), { externalId: 'sibling', outcome: 'activated' }]);
    expect(await world.entries('child')).toHaveLength(before.length);
    expect((await world.steps(capability)).map(({ output }) => output)).toMatchObject([
      { outcome: 'skipped', reason },
      { outcome: 'activated' },
    ]);
  }

  it('when it is queued already', async () => {
    await changeGroup(world.context, 'child', { isEnabled: false });
    await trigger(world.context, { externalId: 'child' });
    await expectSkipped('already_queued');
  });

  it('when its retry waits', async () => {
    await trigger(world.context, { externalId: 'child' });
    world.behaviour = fail;
    await world.dispatch();
    await world.deliver();
    await expectSkipped('already_queued');
  });

  it('when it is live', async () => {
    await world.begin('child');
    await expectSkipped('running');
  });

  it('when it is dead-lettered', async () => {
    await world.sync([parent, { ...child, maxAttempts: 1 }, { externalId: 'sibling', schedule: dormantBelow('parent') }]);
    await trigger(world.context, { externalId: 'child' });
    world.behaviour = fail;
    await world.drain();
    expect(await world.awaiting('child')).toMatchObject({ failed_count: 1 });
    await expectSkipped('dead_letter');
  });

  it('when it is disabled', async () => {
    await disableManifest(world.context, 'child');
    await expectSkipped('disabled');
  });

  it('when it is no longer declared and goes with its last run', async () => {
    await world.begin('child');
    await world.sync([parent, { externalId: 'sibling', schedule: dormantBelow('parent') }]);
    await expectSkipped('retiring');
  });
});

it('is queued beside a delayed trigger with an input of its own, which waits in the series', async () => {
  await trigger(world.context, { externalId: 'child', input: { later: true }, delaySeconds: 600 });
  expect(await world.activate(await world.begin(), one)).toEqual([activated]);
  await world.drain();
  expect(await inputs()).toEqual([{ asked: 1 }, { later: true }]);
});

it('is queued and held when its group is disabled', async () => {
  await changeGroup(world.context, 'child', { isEnabled: false });
  const capability = await world.begin();
  expect(await world.activate(capability, one)).toEqual([activated]);
  expect(await world.dispatch()).toMatchObject({ admittedCount: 0 });
  await world.end(capability);
  await changeGroup(world.context, 'child', { isEnabled: true });
  await world.drain();
  expect(await inputs()).toEqual([{ asked: 1 }]);
});

describe('nothing is queued, and every offender is named,', () => {
  beforeEach(() =>
    world.sync([
      parent,
      child,
      { externalId: 'stranger', schedule: none },
      { externalId: 'foreign', schedule: dormantBelow('stranger') },
      { externalId: 'plain', schedule: following('parent') },
      { externalId: 'timed', schedule: everyMinute },
    ]),
  );

  it.each([
    ['does not exist', 'nothing-like-it', "'nothing-like-it' does not exist"],
    ['is not an id at all', 'no id', "'no id' does not exist"],
    ['is another parent’s', 'foreign', "'foreign' depends on 'stranger', not on 'parent'"],
    ['is not dormant but dependent', 'plain', "'plain' is not dormant, its schedule is 'dependent'"],
    ['is not dormant but timed', 'timed', "'timed' is not dormant, its schedule is 'interval'"],
    ['is the parent itself', 'parent', "'parent' is not dormant, its schedule is 'none'"],
  ])('when one of them %s', async (_, externalId, message) => {
    const capability = await world.begin();
    const asking = world.activate(capability, [...one, { externalId, input: {} }]);
    await expect(asking).rejects.toBeInstanceOf(InvalidActivationError);
    await expect(asking).rejects.toMatchObject({ code: 'invalid_activation', message: expect.stringContaining(message) });
    await world.expectNothing(capability);
  });

  it('all of them together', async () => {
    const capability = await world.begin();
    const asking = world.activate(
      capability,
      ['foreign', 'plain', 'child', 'gone'].map((externalId) => ({ externalId })),
    );
    await expect(asking).rejects.toThrow(
      "'parent' cannot activate these, so nothing was queued: 'foreign' depends on 'stranger', not on 'parent'; " +
        "'plain' is not dormant, its schedule is 'dependent': declare it with dormant: true, or trigger it; 'gone' does not exist",
    );
    await world.expectNothing(capability);
  });

  it('when it was deleted', async () => {
    await world.sync([parent]);
    const capability = await world.begin();
    await expect(world.activate(capability, one)).rejects.toThrow("'child' does not exist");
    await world.expectNothing(capability);
  });

  it('when its edge to this parent was removed', async () => {
    await world.sync([parent, { externalId: 'stranger', schedule: none }, { ...child, schedule: dormantBelow('stranger') }]);
    const capability = await world.begin();
    await expect(world.activate(capability, one)).rejects.toThrow("'child' depends on 'stranger', not on 'parent'");
    await world.expectNothing(capability);
  });
});
