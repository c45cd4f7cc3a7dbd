import { describe, expect, it } from 'vitest';
import { sql } from '../../shared/db/sql.ts';
import { acknowledgeDeadLetter } from '../../shared/operations/resolve-dead-letter.ts';
import { trigger } from '../../shared/operations/trigger.ts';
import { cronAt, everyMinute, fail, START, useWorld } from './use-world.ts';

const world = useWorld();
const { at } = world;
const job = 'job';
const hourly = cronAt('0 * * * *');
const occurrences = async () => (await world.runs(job)).map(({ occurrence_at }) => occurrence_at);

describe('a tick is late', () => {
  it.each([
    ['at the threshold it is still on time', 60, 1, null],
    ['beyond the threshold it is a misfire', 61, 0, 'misfire'],
  ])('%s', async (_, lateSeconds, runCount, reason) => {
    await world.sync([{ externalId: job, schedule: hourly, misfire: { policy: 'skip' } }]);
    world.clock.set(at('01:00:00'));
    world.clock.advance(lateSeconds);
    await world.drain();
    expect(await world.runs(job)).toHaveLength(runCount);
    expect(await world.manifest(job)).toMatchObject({ last_skip_reason: reason, next_due_at: at('02:00:00') });
  });

  it('by more than the threshold that the manifest states', async () => {
    await world.sync([{ externalId: job, schedule: hourly, misfire: { policy: 'skip' }, misfireThresholdSeconds: 600 }]);
    world.clock.set(at('01:10:00'));
    await world.drain();
    expect(await occurrences()).toEqual([at('01:00:00')]);
  });
});

describe('fire_once', () => {
  it('runs once for all that was missed and goes on from now', async () => {
    await world.sync([{ externalId: job, schedule: hourly }]);
    world.clock.set(at('05:30:00'));
    await world.drain();
    expect(await occurrences()).toEqual([at('01:00:00')]);
    expect(await world.manifest(job)).toMatchObject({ next_due_at: at('06:00:00'), skip_count: 0 });
  });
});

describe('skip', () => {
  it('lets what is late go, with the reason', async () => {
    await world.sync([{ externalId: job, schedule: hourly, misfire: { policy: 'skip' } }]);
    world.clock.set(at('05:30:00'));
    await world.drain();
    expect(await occurrences()).toEqual([]);
    expect(await world.manifest(job)).toMatchObject({ last_skip_reason: 'misfire', skip_count: 1, next_due_at: at('06:00:00') });
  });

  it('does not let the occurrence go that is not late', async () => {
    await world.sync([{ externalId: job, schedule: hourly, misfire: { policy: 'skip' } }]);
    world.clock.set(at('05:00:20'));
    await world.drain();
    expect(await occurrences()).toEqual([at('05:00:00')]);
    expect(await world.manifest(job)).toMatchObject({ last_skip_reason: 'misfire', next_due_at: at('06:00:00') });
  });
});

describe('fire_all', () => {
  const missing = (limit: number, schedule = hourly) => world.sync([{ externalId: job, schedule, misfire: { policy: 'fire_all', limit } }]);

  it('runs every occurrence that was missed, oldest first, one at a time', async () => {
    await missing(10);
    world.clock.set(at('03:30:00'));
    await world.manage();
    expect(await world.entries(job)).toMatchObject([{ lane: 'series' }, { lane: 'series' }, { lane: 'series' }]);
    await world.dispatch();
    expect(await occurrences()).toEqual([at('01:00:00')]);
    await world.drain();
    expect(await occurrences()).toEqual([at('01:00:00'), at('02:00:00'), at('03:00:00')]);
    expect(await world.manifest(job)).toMatchObject({ next_due_at: at('04:00:00'), success_count: 3 });
  });

  it('keeps to its limit: the latest ones, oldest first', async () => {
    await missing(2);
    world.clock.set(at('05:30:00'));
    await world.drain();
    expect(await occurrences()).toEqual([at('04:00:00'), at('05:00:00')]);
  });

  it('with a limit of one runs the latest', async () => {
    await missing(1);
    world.clock.set(at('05:30:00'));
    await world.drain();
    expect(await occurrences()).toEqual([at('05:00:00')]);
  });

  it('finds the latest ones also among more than a hundred thousand', async () => {
    await missing(2, { type: 'interval', intervalSeconds: 10, anchor: 'occurrence' });
    world.clock.set('2026-03-16T00:00:05Z');
    await world.drain();
    expect(await occurrences()).toEqual([new Date('2026-03-15T23:59:50Z'), new Date('2026-03-16T00:00:00Z')]);
  });

  it('a single missed occurrence takes the fresh place like any tick', async () => {
    await missing(10);
    world.clock.set(at('01:30:00'));
    await world.manage();
    expect(await world.entries(job)).toMatchObject([{ lane: 'fresh', occurrence_at: at('01:00:00') }]);
  });

  it('the next tick goes before the rest of the series', async () => {
    await missing(10);
    world.clock.set(at('03:30:00'));
    await world.manage();
    world.clock.set(at('04:00:00'));
    await world.drain();
    expect(await occurrences()).toEqual(['04', '01', '02', '03'].map((hour) => at(`${hour}:00:00`)));
    expect(await world.manifest(job)).toMatchObject({ skip_count: 0 });
  });

  it('says so when one of its occurrences already has an entry', async () => {
    await missing(10);
    await trigger(world.context, { externalId: job, input: { asked: true }, delaySeconds: 7_200 });
    world.clock.set(at('03:30:00'));
    await world.drain();
    expect((await world.runs(job)).map(({ occurrence_at, input }) => [occurrence_at, input])).toEqual([
      [at('01:00:00'), {}],
      [at('02:00:00'), { asked: true }],
      [at('03:00:00'), {}],
    ]);
    expect(await world.manifest(job)).toMatchObject({ last_skip_reason: 'occurrence_taken', next_due_at: at('04:00:00') });
  });
});

describe('time that was held', () => {
  it.each([
    ['fire_once', undefined, ['00:01:00']],
    ['skip', undefined, []],
    ['fire_all', 3, ['00:58:00', '00:59:00', '01:00:00']],
  ] as const)('by a dead letter is treated by the policy %s once it is resolved', async (policy, limit, expected) => {
    await world.sync([{ externalId: job, schedule: everyMinute, maxAttempts: 1, misfire: { policy, limit }, misfireThresholdSeconds: 30 }]);
    world.behaviour = fail;
    await world.drain();
    world.clock.advance(60);
    await world.drain();
    world.clock.set(at('01:00:45'));
    world.behaviour = () => 'better';
    await acknowledgeDeadLetter(world.context, (await world.awaiting(job)).id);
    await world.drain();
    expect((await occurrences()).slice(1)).toEqual(expected.map(at));
  });

  it('in a disabled group is gone tick by tick', async () => {
    await world.sync([{ externalId: job, schedule: everyMinute, group: 'etl', misfire: { policy: 'fire_all', limit: 10 } }]);
    await world.database.query(sql`update waybill.manifest_group set is_enabled = false`);
    await world.drain();
    world.clock.set(at('00:10:30'));
    await world.drain();
    expect(await world.manifest(job)).toMatchObject({ last_skip_reason: 'group_disabled', skip_count: 2, next_due_at: at('00:11:00') });
    await world.database.query(sql`update waybill.manifest_group set is_enabled = true`);
    await world.drain();
    expect(await occurrences()).toEqual([]);
    expect(await world.manifest(job)).not.toMatchObject({ next_occurrence_at: new Date(START) });
  });
});
