import { beforeEach, describe, expect, inject, it, onTestFinished } from 'vitest';
import { openDatabase } from '../../shared/db/database.ts';
import { sql } from '../../shared/db/sql.ts';
import { activate } from '../../shared/dormant/activate.ts';
import type { ActivationResult, Capability } from '../../shared/model/dormant.ts';
import { cancelExecution } from '../../shared/operations/cancel-execution.ts';
import { disableManifest } from '../../shared/operations/switch-manifest.ts';
import { trigger } from '../../shared/operations/trigger.ts';
import { beforeStatement, settlesOrWaits } from '../engine/interleave.ts';
import { crashPoints, Killed } from '../support/crash-points.ts';
import { startSwallowingProxy } from '../support/swallowing-proxy.ts';
import { child, dormantBelow, parent, useDormants } from './use-dormants.ts';

const world = useDormants();
const one = [{ externalId: 'child', input: { asked: 1 } }];
const other = { ...parent, externalId: 'other' };
const queued = async () => (await world.entries('child')).filter(({ status }) => status === 'queued');
const activations = () => world.rows(sql`select id from waybill.work_queue where origin = 'activation'`);

beforeEach(() => world.sync([parent, other, { ...child, schedule: dormantBelow('parent', 'other') }]));

describe('at once', () => {
  it('two parents activate the same dependent: one is told that it is queued, the other that it is already', async () => {
    const first = await world.begin('parent');
    const second = await world.begin('other');
    const [[a], [b]] = await Promise.all([world.activate(first, one), world.activate(second, one)]);
    expect([a!.outcome, b!.outcome].sort()).toEqual(['activated', 'skipped']);
    expect([a, b]).toContainEqual({ externalId: 'child', outcome: 'skipped', reason: 'already_queued' });
    expect(await queued()).toHaveLength(1);
  });

  it('parents with the same dependents in different order do not wait for each other in a circle', async () => {
    const names = Array.from({ length: 20 }, (_, index) => `child-${index}`);
    await world.sync([parent, other, ...names.map((externalId) => ({ externalId, schedule: dormantBelow('parent', 'other') }))]);
    const [first, second] = [await world.begin('parent'), await world.begin('other')];
    const asked = names.map((externalId) => ({ externalId }));
    const answers = await Promise.all([
      world.activate(first, asked, { key: 'a' }),
      world.activate(second, asked.toReversed(), { key: 'a' }),
      world.activate(first, asked.toReversed(), { key: 'b' }),
      world.activate(second, asked, { key: 'b' }),
    ]);
    expect(answers.flat().filter(({ outcome }) => outcome === 'activated')).toHaveLength(20);
    expect(await activations()).toHaveLength(20);
  });

  it('two requests with the same key get the same answer for one entry', async () => {
    const capability = await world.begin();
    const answers = await Promise.all(Array.from({ length: 5 }, () => world.activate(capability, one, { key: 'k' })));
    for (const answer of answers) expect(answer).toEqual(answers[0]);
    expect(answers[0]).toMatchObject([{ outcome: 'activated' }]);
    expect(await world.entries('child')).toHaveLength(1);
  });
});

interface Interruption {
  act(capability: Capability, otherCapability: Capability): Promise<unknown>;
  /** The first statement before which the activation holds what the interruption needs: from there on it has to wait for the commit. */
  waitsFrom: number;
}

const DEPENDENT_IS_LOCKED = 2;
const PARENT_IS_LOCKED = 3;

/** What somebody else may do just before any statement of an activation. */
const interruptions: Record<string, Interruption> = {
  'the parent fails': { act: (capability) => world.end(capability, 'failed'), waitsFrom: PARENT_IS_LOCKED },
  // Its dependents are locked along with it.
  'the parent completes': { act: (capability) => world.end(capability), waitsFrom: DEPENDENT_IS_LOCKED },
  'the parent is cancelled': { act: ({ executionId }) => cancelExecution(world.context, executionId), waitsFrom: PARENT_IS_LOCKED },
  'the dependent is disabled': { act: () => disableManifest(world.context, 'child'), waitsFrom: DEPENDENT_IS_LOCKED },
  'the dependent is triggered': { act: () => trigger(world.context, { externalId: 'child' }), waitsFrom: DEPENDENT_IS_LOCKED },
  'the dependent is triggered and admitted': {
    act: async () => {
      await trigger(world.context, { externalId: 'child' });
      await world.dispatch();
    },
    waitsFrom: DEPENDENT_IS_LOCKED,
  },
  'another parent activates it': { act: (_, otherCapability) => world.activate(otherCapability, one), waitsFrom: DEPENDENT_IS_LOCKED },
  'a deployment gives it to the other parent': {
    act: () => world.sync([parent, other, { ...child, schedule: dormantBelow('other') }]),
    waitsFrom: DEPENDENT_IS_LOCKED,
  },
  'a deployment no longer declares it': { act: () => world.sync([parent, other]), waitsFrom: DEPENDENT_IS_LOCKED },
};

describe.each(Object.entries(interruptions))('when, in the middle of an activation, %s', (_, { act, waitsFrom }) => {
  it.each([0, 1, 2, 3, 4, 5, 6])('before its statement %d, what is answered is what has happened', async (number) => {
    const capability = await world.begin('parent');
    const otherCapability = await world.begin('other');
    let interruption: Promise<unknown> = Promise.resolve();
    let became = '';
    const database = beforeStatement(world.database, number, async () => {
      interruption = act(capability, otherCapability);
      became = await settlesOrWaits(world.database, interruption);
    });
    const answer = await activate({ database, doorbell: world.doorbell }, { ...capability, activations: one }).catch(
      (error: { code?: string }) => error.code,
    );
    await interruption;
    expect(became).toBe(number < waitsFrom ? 'settled' : 'waits');
    const mine = await world.rows<{ id: string }>(sql`
      select id::text from waybill.work_queue where origin = 'activation' and initiator_id = ${capability.executionId}`);
    const recorded = (await world.steps(capability)).map(({ output }) => output);
    if (typeof answer === 'string') {
      expect(['lease_lost', 'invalid_activation']).toContain(answer);
      expect([mine, recorded]).toEqual([[], []]);
    } else {
      const [result] = answer as ActivationResult[];
      expect(recorded).toMatchObject([result!]);
      expect(mine.map(({ id }) => id)).toEqual(result!.outcome === 'activated' ? [result!.queueEntryId] : []);
      if (became === 'waits') expect(result).toMatchObject({ outcome: 'activated' });
    }
    await world.drain();
  });
});

it('a lease that is lost while the activation waits for a dependent is noticed, and nothing is written', async () => {
  const capability = await world.begin();
  const [locked, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const holding = world.database.transaction(async (db) => {
    await db.query(sql`select id from waybill.manifest where external_id = 'child' for no key update`);
    locked.resolve();
    await held.promise;
  });
  await locked.promise;
  const asking = world.activate(capability, one);
  const outcome = expect(asking).rejects.toMatchObject({ code: 'lease_lost' });
  expect(await settlesOrWaits(world.database, asking)).toBe('waits');
  await world.end(capability, 'failed');
  held.resolve();
  await holding;
  await outcome;
  expect(await activations()).toEqual([]);
  expect(await world.steps(capability)).toEqual([]);
});

it('an answer that is lost after the commit is asked for again at once: one entry, its result and a poke', async () => {
  const [current] = await world.rows<{ name: string }>(sql`select current_database() as name`);
  const url = Object.assign(new URL(inject('databaseUrl')), { pathname: `/${current!.name}` });
  const proxy = await startSwallowingProxy(url.href);
  onTestFinished(() => proxy.close());
  const database = openDatabase({ url: proxy.url, clock: world.clock });
  onTestFinished(() => database.close());
  const capability = await world.begin();
  proxy.swallowCommits(1);
  const [result] = await activate({ database, doorbell: world.doorbell }, { ...capability, activations: one });
  expect(proxy.swallowedCount).toBe(1);
  expect(await world.entries('child')).toMatchObject([{ id: Number((result as { queueEntryId: string }).queueEntryId) }]);
  expect(world.doorbell.dispatcherPokes).toBe(1);
});

it('killed anywhere, nothing is lost and nothing doubled: whoever asks again with the same key gets one entry', async () => {
  const asking = (capability: Capability, points = crashPoints('activator')) =>
    activate(
      { database: points.database(world.database), doorbell: points.doorbell(world.doorbell) },
      { ...capability, activations: one, key: 'k' },
    );
  const recording = crashPoints('activator');
  await asking(await world.begin(), recording);
  expect(recording.reached).toEqual([
    'activator: before begin',
    'activator: before commit',
    'activator: after commit',
    'activator: before poke of the dispatcher',
    'activator: after poke of the dispatcher',
  ]);
  for (const [index, point] of recording.reached.entries()) {
    await world.empty();
    await world.sync([parent, other, { ...child, schedule: dormantBelow('parent', 'other') }]);
    const capability = await world.begin();
    await expect(asking(capability, crashPoints('activator', index)), point).rejects.toBeInstanceOf(Killed);
    expect(await asking(capability), point).toMatchObject([{ outcome: 'activated' }]);
    await world.drain();
    expect(await world.runs('child'), point).toMatchObject([{ state: 'completed', input: { asked: 1 } }]);
  }
});
