import { describe, expect, it } from 'vitest';
import { sql } from '../../shared/db/sql.ts';
import { cancelEntry } from '../../shared/operations/cancel-entry.ts';
import { acknowledgeDeadLetter } from '../../shared/operations/resolve-dead-letter.ts';
import { trigger } from '../../shared/operations/trigger.ts';
import { fail, following, onceAt, useWorld } from './use-world.ts';

const world = useWorld();
const { at } = world;
const job = 'job';
const declare = (time = '01:00:00', maxAttempts = 3) => world.sync([{ externalId: job, schedule: onceAt(time), maxAttempts }]);
const isDone = async () => {
  const { next_occurrence_at, next_due_at, is_enabled } = await world.manifest(job);
  return next_occurrence_at === null && next_due_at === null && is_enabled;
};

describe('a once is done, and stays enabled,', () => {
  it('after it has succeeded, and its dependents fire', async () => {
    await world.sync([
      { externalId: job, schedule: onceAt('01:00:00') },
      { externalId: 'child', schedule: following(job) },
    ]);
    world.clock.set(at('01:00:00'));
    await world.drain();
    expect(await world.runs(job)).toMatchObject([{ occurrence_at: at('01:00:00'), state: 'completed' }]);
    expect(await world.runs('child')).toMatchObject([{ state: 'completed' }]);
    expect(await isDone()).toBe(true);
    world.clock.set(at('23:00:00'));
    await world.drain();
    expect(await world.runs(job)).toHaveLength(1);
  });

  it('after its entry was cancelled', async () => {
    await declare();
    world.clock.set(at('01:00:00'));
    await world.manage();
    await cancelEntry(world.context, String((await world.entries(job))[0]!.id));
    await world.drain();
    expect(await world.runs(job)).toEqual([]);
    expect(await isDone()).toBe(true);
  });

  it('after its dead letter was acknowledged', async () => {
    await declare('01:00:00', 1);
    world.clock.set(at('01:00:00'));
    world.behaviour = fail;
    await world.drain();
    await acknowledgeDeadLetter(world.context, (await world.awaiting(job)).id);
    await world.drain();
    expect(await world.runs(job)).toMatchObject([{ state: 'failed' }]);
    expect(await isDone()).toBe(true);
  });

  it('also after a deployment that states it again, or changes something else', async () => {
    await declare();
    world.clock.set(at('01:00:00'));
    await world.drain();
    await declare();
    await declare('01:00:00', 7);
    await world.drain();
    expect(await world.runs(job)).toHaveLength(1);
    expect(await isDone()).toBe(true);
  });
});

describe('a once', () => {
  it('runs however late it is looked at', async () => {
    await declare();
    world.clock.set('2026-06-01T00:00:00Z');
    await world.drain();
    expect(await world.runs(job)).toMatchObject([{ occurrence_at: at('01:00:00') }]);
  });

  it('whose instant had passed when it was declared runs at once', async () => {
    world.clock.set(at('05:00:00'));
    await declare();
    await world.drain();
    expect(await world.runs(job)).toMatchObject([{ occurrence_at: at('01:00:00') }]);
  });

  it('fails, is retried and keeps its occurrence', async () => {
    await declare();
    world.clock.set(at('01:00:00'));
    world.behaviour = ({ attempt }) => (attempt < 3 ? fail({} as never, null) : 'done');
    await world.drain();
    expect((await world.runs(job)).map(({ attempt, occurrence_at }) => [attempt, occurrence_at])).toEqual([
      [1, at('01:00:00')],
      [2, at('01:00:00')],
      [3, at('01:00:00')],
    ]);
  });

  it('is not used up by a trigger before its instant', async () => {
    await declare();
    await trigger(world.context, { externalId: job });
    await world.drain();
    world.clock.set(at('01:00:00'));
    await world.drain();
    expect((await world.runs(job)).map(({ origin }) => origin)).toEqual(['manual', 'schedule']);
  });

  it('that finds a delayed trigger without input brings it forward, and both are that one run', async () => {
    await declare();
    await trigger(world.context, { externalId: job, delaySeconds: 7_200 });
    world.clock.set(at('01:00:00'));
    await world.drain();
    expect(await world.runs(job)).toMatchObject([{ occurrence_at: at('01:00:00') }]);
    expect(await isDone()).toBe(true);
  });

  it('that is moved to another instant runs again there', async () => {
    await declare();
    world.clock.set(at('01:00:00'));
    await world.drain();
    await declare('03:00:00');
    world.clock.set(at('03:00:00'));
    await world.drain();
    expect((await world.runs(job)).map(({ occurrence_at }) => occurrence_at)).toEqual([at('01:00:00'), at('03:00:00')]);
  });

  it('that a rolled back deployment moves to an instant it has run for is done, and says so', async () => {
    await declare();
    world.clock.set(at('01:00:00'));
    await world.drain();
    await declare('03:00:00');
    await declare('01:00:00');
    world.clock.set(at('05:00:00'));
    await world.drain();
    expect(await world.runs(job)).toHaveLength(1);
    expect(await world.manifest(job)).toMatchObject({ last_skip_reason: 'occurrence_taken' });
    expect(await isDone()).toBe(true);
  });

  it.each([
    ['a misfire policy', sql`update waybill.manifest set misfire_policy = 'skip'`],
    ['exclusions', sql`update waybill.manifest set exclusions = '[{"type":"dates","dates":["2026-03-02"]}]'`],
  ])('cannot have %s', async (_, statement) => {
    await declare();
    await expect(world.database.query(statement)).rejects.toMatchObject({ constraint: 'once_has_no_misfire_and_no_exclusions' });
  });
});
