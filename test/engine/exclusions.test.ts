import { describe, expect, it } from 'vitest';
import type { Exclusion } from '../../shared/time/exclusion.ts';
import { cronAt, useWorld } from './use-world.ts';

const world = useWorld();
const job = 'job';
const occurrences = async () => (await world.runs(job)).map(({ occurrence_at }) => occurrence_at!.toISOString().slice(0, 16));

describe('an occurrence that is excluded', () => {
  // Every test begins on Monday, 2 March 2026. New York is five hours behind until the 8th, so its midnight is 05:00Z.
  const nightly = cronAt('30 23 * * *', 'America/New_York');
  it.each<[string, Exclusion]>([
    ['by its weekday', { type: 'weekdays', weekdays: ['tuesday'] }],
    ['by its date', { type: 'dates', dates: ['2026-03-03'] }],
    ['by a range of dates', { type: 'date_range', from: '2026-03-03', to: '2026-03-03' }],
  ])('%s, as the calendar of its zone shows it, is gone with the reason', async (_, exclusion) => {
    await world.sync([{ externalId: job, schedule: nightly, exclusions: [exclusion] }]);
    for (const now of ['2026-03-02T04:30:00Z', '2026-03-03T04:30:00Z', '2026-03-04T04:30:00Z', '2026-03-05T04:30:00Z']) {
      world.clock.set(now);
      await world.drain();
    }
    expect(await occurrences()).toEqual(['2026-03-02T04:30', '2026-03-03T04:30', '2026-03-05T04:30']);
    expect(await world.manifest(job)).toMatchObject({ last_skip_reason: 'excluded', skip_count: 1 });
  });

  it('by a time window that crosses midnight is gone on both sides of it', async () => {
    const exclusions: Exclusion[] = [{ type: 'time_window', from: '22:00', to: '06:00' }];
    await world.sync([{ externalId: job, schedule: cronAt('0 0,6,21,22 * * *', 'Europe/London'), exclusions }]);
    for (const hour of ['06', '21', '22']) {
      world.clock.set(world.at(`${hour}:00:00`));
      await world.drain();
    }
    world.clock.set('2026-03-03T00:00:00Z');
    await world.drain();
    expect(await occurrences()).toEqual(['2026-03-02T06:00', '2026-03-02T21:00']);
    expect(await world.manifest(job)).toMatchObject({ skip_count: 2, next_due_at: new Date('2026-03-03T06:00:00Z') });
  });
});

describe('missed occurrences', () => {
  const weekdays: Exclusion[] = [{ type: 'weekdays', weekdays: ['saturday', 'sunday'] }];
  const noon = cronAt('0 12 * * *');

  it('of which some are excluded: fire_all runs the others', async () => {
    world.clock.set('2026-03-06T00:00:00Z');
    await world.sync([{ externalId: job, schedule: noon, exclusions: weekdays, misfire: { policy: 'fire_all', limit: 3 } }]);
    world.clock.set('2026-03-10T13:00:00Z');
    await world.drain();
    expect(await occurrences()).toEqual(['2026-03-06T12:00', '2026-03-09T12:00', '2026-03-10T12:00']);
  });

  it('of which the first is excluded: fire_once still runs for the others', async () => {
    world.clock.set('2026-03-07T00:00:00Z');
    await world.sync([{ externalId: job, schedule: noon, exclusions: weekdays }]);
    world.clock.set('2026-03-10T13:00:00Z');
    await world.drain();
    expect(await occurrences()).toEqual(['2026-03-09T12:00']);
  });

  it('that are all excluded are gone under every policy', async () => {
    world.clock.set('2026-03-07T00:00:00Z');
    const policies = ['fire_once', 'skip', 'fire_all'] as const;
    await world.sync(
      policies.map((policy) => ({
        externalId: policy,
        schedule: noon,
        exclusions: weekdays,
        misfire: { policy, limit: policy === 'fire_all' ? 5 : undefined },
      })),
    );
    world.clock.set('2026-03-08T13:00:00Z');
    await world.drain();
    for (const policy of policies) {
      expect(await world.runs(policy)).toEqual([]);
      expect(await world.manifest(policy)).toMatchObject({ last_skip_reason: 'excluded', next_due_at: new Date('2026-03-09T12:00:00Z') });
    }
  });
});
