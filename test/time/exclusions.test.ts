import { describe, expect, it } from 'vitest';
import { checkExclusions } from '../../shared/time/check-exclusions.ts';
import type { Exclusion } from '../../shared/time/exclusion.ts';
import { InvalidScheduleError } from '../../shared/time/invalid-schedule-error.ts';
import { isExcluded } from '../../shared/time/is-excluded.ts';

describe('isExcluded', () => {
  const saturday: Exclusion = { type: 'weekdays', weekdays: ['saturday'] };
  const christmas: Exclusion = { type: 'dates', dates: ['2026-12-24', '2026-12-25'] };
  const freeze: Exclusion = { type: 'date_range', from: '2026-12-28', to: '2026-12-31' };
  const office: Exclusion = { type: 'time_window', from: '09:00', to: '17:30' };
  const night: Exclusion = { type: 'time_window', from: '22:00', to: '06:00' };

  it.each<[Exclusion, string, boolean]>([
    [saturday, '2026-12-04T15:00:00Z', true],
    [saturday, '2026-12-05T15:00:00Z', false],
    [christmas, '2026-12-23T15:00:00Z', true],
    [christmas, '2026-12-25T14:59:59Z', true],
    [christmas, '2026-12-25T15:00:00Z', false],
    [freeze, '2026-12-27T14:59:59Z', false],
    [freeze, '2026-12-27T15:00:00Z', true],
    [freeze, '2026-12-31T14:59:59Z', true],
    [freeze, '2026-12-31T15:00:00Z', false],
    [office, '2026-12-01T00:00:00Z', true],
    [office, '2026-12-01T08:29:59Z', true],
    [office, '2026-12-01T08:30:00Z', false],
    [night, '2026-12-01T12:59:59Z', false],
    [night, '2026-12-01T13:00:00Z', true],
    [night, '2026-12-01T15:00:00Z', true],
    [night, '2026-12-01T20:59:59Z', true],
    [night, '2026-12-01T21:00:00Z', false],
  ])('judges %o at %s by the clock and calendar of Tokyo: %s', (exclusion, at, expected) => {
    expect(isExcluded([exclusion], new Date(at), 'Asia/Tokyo')).toEqual(expected ? exclusion : undefined);
  });

  it('answers the first exclusion that applies', () => {
    expect(isExcluded([saturday, christmas, night], new Date('2026-12-25T23:00:00Z'), 'UTC')).toBe(christmas);
  });

  it('excludes nothing when there are none', () => {
    expect(isExcluded([], new Date('2026-12-25T23:00:00Z'), 'UTC')).toBeUndefined();
  });
});

describe('checkExclusions', () => {
  it('accepts every kind, and drops what does not belong there', () => {
    const exclusions = [
      { type: 'weekdays', weekdays: ['saturday', 'sunday'] },
      { type: 'dates', dates: ['2028-02-29'] },
      { type: 'date_range', from: '2026-12-24', to: '2026-12-24' },
      { type: 'time_window', from: '22:00', to: '06:00' },
    ];
    expect(checkExclusions(exclusions.map((exclusion) => ({ ...exclusion, colour: 'red' })))).toEqual(exclusions);
    expect(checkExclusions([])).toEqual([]);
  });

  it.each<[unknown, string]>([
    ['weekends', "exclusions are invalid: they must be a list, got 'weekends'"],
    [undefined, 'exclusions are invalid: they must be a list, got undefined'],
    [[null], 'exclusion 1 is invalid: it must be an object, got null'],
    [[{ type: 'moon' }], "exclusion 1 is invalid: type must be weekdays, dates, date_range or time_window, got 'moon'"],
    [
      [{ type: 'weekdays', weekdays: ['Saturday'] }],
      "a weekday must be one of sunday, monday, tuesday, wednesday, thursday, friday, saturday, got 'Saturday'",
    ],
    [[{ type: 'weekdays', weekdays: [] }], 'weekdays must be a list with at least one entry, got []'],
    [[{ type: 'dates', dates: '2026-12-25' }], "dates must be a list with at least one entry, got '2026-12-25'"],
    [[{ type: 'dates', dates: ['2026-02-30'] }], "a date must exist and be written YYYY-MM-DD, got '2026-02-30'"],
    [[{ type: 'dates', dates: ['2026-13-01'] }], "got '2026-13-01'"],
    [[{ type: 'dates', dates: ['2027-02-29'] }], "got '2027-02-29'"],
    [[{ type: 'dates', dates: ['25.12.2026'] }], "got '25.12.2026'"],
    [[{ type: 'date_range', from: '2026-12-25' }], 'a date must exist and be written YYYY-MM-DD, got undefined'],
    [
      [{ type: 'date_range', from: '2026-12-25', to: '2026-12-24' }],
      "a date range must not end before it starts, got '2026-12-25' to '2026-12-24'; swap them",
    ],
    [[{ type: 'time_window', from: '24:00', to: '06:00' }], "a time must be written HH:MM, from 00:00 to 23:59, got '24:00'"],
    [[{ type: 'time_window', from: '9:00', to: '17:00' }], "got '9:00'"],
    [[{ type: 'time_window', from: '09:00', to: '17:60' }], "got '17:60'"],
    [
      [{ type: 'time_window', from: '09:00', to: '09:00' }],
      "a time window must not end when it starts, got '09:00' twice; exclude whole days by weekday or date",
    ],
    [
      [
        { type: 'weekdays', weekdays: ['sunday'] },
        { type: 'dates', dates: [7] },
      ],
      'exclusion 2 is invalid: a date must exist and be written YYYY-MM-DD, got 7',
    ],
  ])('refuses %j', (value, message) => {
    const check = () => checkExclusions(value);
    expect(check).toThrow(InvalidScheduleError);
    expect(check).toThrow(message);
  });
});
