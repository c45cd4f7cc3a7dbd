import { describe, expect, it } from 'vitest';
import { nextOccurrence, type Schedule } from '../../shared/time/next-occurrence.ts';
import { occurrencesBetween } from '../../shared/time/occurrences-between.ts';

const forever = new Date('9999-12-31T00:00:00Z');

/** The first occurrences from an instant on, short enough to read. */
function listOccurrences(expression: string, timeZone: string, from: string, count: number): string[] {
  const found = occurrencesBetween({ type: 'cron', expression, timeZone }, new Date(from), forever, count);
  return found.map((at) => at.toISOString().slice(0, 16));
}

describe('a named time that the clock leaves out', () => {
  it.each([
    ['0 0', 'Africa/Cairo', '2026-04-22T22:00', '2026-04-23T22:00', '2026-04-24T21:00'],
    ['0 0', 'America/Havana', '2026-03-07T05:00', '2026-03-08T05:00', '2026-03-09T04:00'],
    ['0 0', 'America/Santiago', '2026-09-05T04:00', '2026-09-06T04:00', '2026-09-07T03:00'],
    ['0 0', 'Asia/Beirut', '2026-03-27T22:00', '2026-03-28T22:00', '2026-03-29T21:00'],
    ['0 0', 'Atlantic/Azores', '2026-03-28T01:00', '2026-03-29T01:00', '2026-03-30T00:00'],
    ['30 1', 'Antarctica/Troll', '2026-03-28T01:30', '2026-03-29T01:00', '2026-03-29T23:30'],
    ['15 2', 'Australia/Lord_Howe', '2026-10-02T15:45', '2026-10-03T15:30', '2026-10-04T15:15'],
    ['30 2', 'America/New_York', '2026-03-07T07:30', '2026-03-08T07:00', '2026-03-09T06:30'],
  ])('happens at %s in %s at the first instant after the gap', (time, zone, before, atTheGap, after) => {
    expect(listOccurrences(`${time} * * *`, zone, `${before}Z`, 3)).toEqual([before, atTheGap, after]);
  });

  it('happens at midnight when its date ends in the gap', () => {
    expect(listOccurrences('30 23 * * *', 'America/Nuuk', '2026-03-28T01:30Z', 3)).toEqual([
      '2026-03-28T01:30',
      '2026-03-29T01:00',
      '2026-03-30T00:30',
    ]);
  });

  it('happens once together with others of the same gap, and with one named for its end', () => {
    expect(listOccurrences('0,30 2,3 * * *', 'America/New_York', '2026-03-08T05:00Z', 3)).toEqual([
      '2026-03-08T07:00',
      '2026-03-08T07:30',
      '2026-03-09T06:00',
    ]);
  });

  it('does not happen when the zone left out the whole date', () => {
    const expected = ['2011-12-28T19:00', '2011-12-29T19:00', '2011-12-30T19:00', '2011-12-31T19:00'];
    expect(listOccurrences('0 9 * * *', 'Pacific/Apia', '2011-12-28T19:00Z', 4)).toEqual(expected);
    expect(listOccurrences('0 0 30 12 *', 'Pacific/Apia', '2011-01-01T00:00Z', 1)).toEqual(['2012-12-29T10:00']);
  });
});

describe('a named time that the clock shows twice', () => {
  it.each([
    ['30 1', 'America/New_York', '2026-10-31T05:30', '2026-11-01T05:30', '2026-11-02T06:30'],
    ['0 0', 'Atlantic/Azores', '2026-10-24T00:00', '2026-10-25T00:00', '2026-10-26T01:00'],
    ['30 23', 'America/Santiago', '2026-04-04T02:30', '2026-04-05T02:30', '2026-04-06T03:30'],
    ['30 1', 'Antarctica/Troll', '2026-10-23T23:30', '2026-10-24T23:30', '2026-10-26T01:30'],
    ['45 1', 'Australia/Lord_Howe', '2026-04-03T14:45', '2026-04-04T14:45', '2026-04-05T15:15'],
  ])('happens at %s in %s the first time only', (time, zone, before, first, after) => {
    expect(listOccurrences(`${time} * * *`, zone, `${before}Z`, 3)).toEqual([before, first, after]);
  });

  it('is not found again when one looks from the second time on', () => {
    expect(listOccurrences('0,30 1 * * *', 'America/New_York', '2026-11-01T06:00Z', 1)).toEqual(['2026-11-02T06:00']);
  });
});

describe('an expression that goes round the clock', () => {
  it('happens in every real hour when the clock falls back', () => {
    const expected = ['2026-11-01T04:00', '2026-11-01T05:00', '2026-11-01T06:00', '2026-11-01T07:00'];
    expect(listOccurrences('0 * * * *', 'America/New_York', '2026-11-01T04:00Z', 4)).toEqual(expected);
  });

  it('keeps its spacing when the clock springs forward', () => {
    const expected = ['2026-03-08T06:45', '2026-03-08T07:00', '2026-03-08T07:15'];
    expect(listOccurrences('*/15 * * * *', 'America/New_York', '2026-03-08T06:45Z', 3)).toEqual(expected);
  });

  it('leaves out an even hour that does not exist, and repeats one that is shown twice', () => {
    expect(listOccurrences('0 */2 * * *', 'Africa/Cairo', '2026-04-23T20:00Z', 2)).toEqual(['2026-04-23T20:00', '2026-04-23T23:00']);
    expect(listOccurrences('0 */2 * * *', 'America/Havana', '2026-11-01T04:00Z', 3)).toEqual([
      '2026-11-01T04:00',
      '2026-11-01T05:00',
      '2026-11-01T07:00',
    ]);
  });
});

describe('an interval', () => {
  const schedule: Schedule = { type: 'interval', intervalSeconds: 90, from: new Date('2026-01-01T00:00:00.250Z') };

  it.each([
    ['2025-12-31T00:00:00.000Z', '2026-01-01T00:00:00.250Z'],
    ['2026-01-01T00:00:00.249Z', '2026-01-01T00:00:00.250Z'],
    ['2026-01-01T00:00:00.250Z', '2026-01-01T00:01:30.250Z'],
    ['2026-01-01T00:01:30.249Z', '2026-01-01T00:01:30.250Z'],
    ['2026-01-01T00:01:30.250Z', '2026-01-01T00:03:00.250Z'],
    ['2026-02-01T00:00:00.000Z', '2026-02-01T00:00:00.250Z'],
  ])('after %s is next on its grid at %s', (after, expected) => {
    expect(nextOccurrence(schedule, new Date(after))).toEqual(new Date(expected));
  });
});

describe('a one-time schedule', () => {
  const schedule: Schedule = { type: 'once', runAt: new Date('2026-01-01T00:00:00Z') };

  it('occurs at its instant, and never after it', () => {
    expect(nextOccurrence(schedule, new Date('2025-12-31T23:59:59.999Z'))).toEqual(schedule.runAt);
    expect(nextOccurrence(schedule, schedule.runAt)).toBeUndefined();
  });
});

describe('nextOccurrence', () => {
  it('is strictly after the given instant, to the millisecond', () => {
    const schedule = { type: 'cron', expression: '0 0 * * *', timeZone: 'UTC' } as const;
    expect(nextOccurrence(schedule, new Date('2026-01-01T23:59:59.999Z'))).toEqual(new Date('2026-01-02T00:00:00Z'));
    expect(nextOccurrence(schedule, new Date('2026-01-02T00:00:00.000Z'))).toEqual(new Date('2026-01-03T00:00:00Z'));
    expect(nextOccurrence(schedule, new Date('2026-01-02T00:00:00.001Z'))).toEqual(new Date('2026-01-03T00:00:00Z'));
  });

  it('does not step over the start of a month because the one before has no 31st', () => {
    expect(listOccurrences('0 0 1,31 * *', 'UTC', '2027-02-02T00:00Z', 3)).toEqual([
      '2027-03-01T00:00',
      '2027-03-31T00:00',
      '2027-04-01T00:00',
    ]);
  });

  it.each<Schedule>([
    { type: 'cron', expression: '0 0 1 1 *', timeZone: 'Pacific/Kiritimati' },
    { type: 'cron', expression: '* * * * * *', timeZone: 'America/New_York' },
    { type: 'cron', expression: '0 0 * 2 MON#5', timeZone: 'Europe/London' },
    { type: 'interval', intervalSeconds: 60, from: new Date('2026-01-01T00:00:00Z') },
    { type: 'once', runAt: new Date('+010000-01-01T00:00:00Z') },
  ])('finds nothing from the year 9999 on: $type $expression', (schedule) => {
    for (const after of ['9998-12-31T23:59:59.500Z', '9999-06-01T00:00:00Z', '+275760-09-13T00:00:00.000Z']) {
      expect(nextOccurrence(schedule, new Date(after))).toBeUndefined();
    }
  });

  it('looks from the year 1900 on when asked about antiquity', () => {
    const schedule = { type: 'cron', expression: '0 0 * * *', timeZone: 'UTC' } as const;
    expect(nextOccurrence(schedule, new Date(-8.64e15))).toEqual(new Date('1900-01-02T00:00:00Z'));
  });

  it('refuses an invalid date instead of looking for ever', () => {
    const schedule = { type: 'cron', expression: '0 0 * * *', timeZone: 'UTC' } as const;
    expect(() => nextOccurrence(schedule, new Date(Number.NaN))).toThrow(RangeError);
  });
});

describe('occurrencesBetween', () => {
  const hourly = { type: 'cron', expression: '0 * * * *', timeZone: 'UTC' } as const;
  const [from, to] = [new Date('2026-01-01T00:00:00Z'), new Date('2026-01-01T03:00:00Z')];

  it('includes the start and not the end', () => {
    expect(occurrencesBetween(hourly, from, to, 10).map((at) => at.getUTCHours())).toEqual([0, 1, 2]);
  });

  it('stops at the limit', () => {
    expect(occurrencesBetween(hourly, from, to, 2)).toHaveLength(2);
    expect(occurrencesBetween(hourly, from, to, 0)).toEqual([]);
  });

  it('ends with a schedule that ends', () => {
    expect(occurrencesBetween({ type: 'once', runAt: from }, from, forever, 10)).toEqual([from]);
  });
});
