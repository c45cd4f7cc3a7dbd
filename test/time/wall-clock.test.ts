import { describe, expect, it } from 'vitest';
import { fromWallClock, toWallClock } from '../../shared/time/wall-clock.ts';
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

describe('fromWallClock', () => {
  const at = (hour: number, minute: number) => ({ year: 2026, month: 3, day: 29, hour, minute, second: 0 });

  it('finds the one instant of an ordinary wall time', () => {
    expect(fromWallClock(at(12, 0), 'Europe/London')).toEqual({ type: 'unique', at: new Date('2026-03-29T11:00:00Z') });
  });

  it('finds the end of the gap for a wall time that the clock left out', () => {
    expect(fromWallClock(at(1, 30), 'Europe/London')).toEqual({ type: 'gap', endsAt: new Date('2026-03-29T01:00:00Z') });
    expect(fromWallClock(at(2, 0), 'Europe/London')).toEqual({ type: 'unique', at: new Date('2026-03-29T01:00:00Z') });
  });

  it('finds both instants of a wall time that the clock showed twice', () => {
    const wall = { year: 2026, month: 10, day: 25, hour: 1, minute: 30, second: 0 };
    const expected = { type: 'overlap', firstAt: new Date('2026-10-25T00:30:00Z'), secondAt: new Date('2026-10-25T01:30:00Z') };
    expect(fromWallClock(wall, 'Europe/London')).toEqual(expected);
  });

  it('finds the end of a gap of a whole day', () => {
    const wall = { year: 2011, month: 12, day: 30, hour: 12, minute: 0, second: 0 };
    expect(fromWallClock(wall, 'Pacific/Apia')).toEqual({ type: 'gap', endsAt: new Date('2011-12-30T10:00:00Z') });
  });

  it('gives back what the clock showed, in every zone', () => {
    for (const zone of Intl.supportedValuesOf('timeZone')) {
      for (const instant of [new Date('2026-01-15T12:34:56Z'), new Date('2026-07-15T12:34:56Z')]) {
        expect(fromWallClock(toWallClock(instant, zone), zone)).toEqual({ type: 'unique', at: instant });
      }
    }
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
