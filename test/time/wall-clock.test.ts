import { describe, expect, it } from 'vitest';
import { toWallClock } from '../../shared/time/wall-clock.ts';
import { zonePeriodAt } from '../../shared/time/zone-offsets.ts';
import { findZoneChanges, type ZoneChange } from './find-zone-changes.ts';

describe('toWallClock', () => {
  it('shows date, time and weekday in the zone', () => {
    const wall = toWallClock(new Date('2026-07-01T23:59:58.999Z'), 'Asia/Kathmandu');
    expect(wall).toEqual({ year: 2026, month: 7, day: 2, hour: 5, minute: 44, second: 58, weekday: 4 });
  });

  it('shows seconds of offsets from before standard time', () => {
    expect(toWallClock(new Date('1905-01-01T00:00:00Z'), 'Europe/Amsterdam')).toMatchObject({ year: 1905, hour: 0 });
    expect(toWallClock(new Date('1915-01-01T00:00:00Z'), 'Africa/Monrovia')).toMatchObject({
      year: 1914,
      hour: 23,
      minute: 16,
      second: 52,
    });
  });
});

describe('zonePeriodAt', () => {
  it.each(['Asia/Gaza', 'Africa/Casablanca', 'Africa/Cairo', 'America/Noronha', 'Pacific/Apia', 'Europe/London', 'Asia/Pyongyang'])(
    'finds every change of the clock in %s from 1970 to 2045',
    (zone) => {
      const [from, to] = [Date.UTC(1970, 0, 10) / 1000, Date.UTC(2045, 0, 1) / 1000];
      const found: ZoneChange[] = [];
      for (let period = zonePeriodAt(zone, from); period.startAt < to; period = zonePeriodAt(zone, period.endAt)) {
        const { startAt, previousOffset, offset } = period;
        if (offset !== previousOffset && startAt > from && found.at(-1)?.at !== startAt) {
          found.push({ at: startAt, before: previousOffset, after: offset });
        }
      }
      expect(found).toEqual(findZoneChanges(zone, from, to));
    },
  );
});
