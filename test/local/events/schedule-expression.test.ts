import { Cron } from 'croner';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseScheduleExpression } from '../../../local/events/schedule-expression.ts';

const startedAt = new Date('2026-11-16T10:00:30Z');

/** The first occurrences after an instant, as Scheduler would write them. */
function occurrences(
  expression: string,
  { after = '2026-11-16T10:00:00Z', count = 3, timeZone }: { after?: string; count?: number; timeZone?: string } = {},
) {
  const nextAfter = parseScheduleExpression(expression, { timeZone, startedAt });
  const found: string[] = [];
  for (let at = nextAfter(new Date(after)); at !== undefined && found.length < count; at = nextAfter(at))
    found.push(at.toISOString().slice(0, 16));
  return found;
}

describe('a rate', () => {
  it('starts at once and keeps its beat from there', () => {
    const nextAfter = parseScheduleExpression('rate(5 minutes)', { startedAt });
    expect(nextAfter(new Date('2026-11-16T10:00:29.999Z'))).toEqual(startedAt);
    expect(nextAfter(startedAt)).toEqual(new Date('2026-11-16T10:05:30Z'));
    expect(nextAfter(new Date('2026-11-16T13:07:00Z'))).toEqual(new Date('2026-11-16T13:10:30Z'));
  });

  it.each(['rate(1 minute)', 'rate(1 minutes)', 'rate(2 hours)', 'rate(30 days)'])('%s is accepted', (expression) => {
    expect(occurrences(expression)).toHaveLength(3);
  });

  it.each(['rate(5 minute)', 'rate(0 minutes)', 'rate(1.5 hours)', 'rate(5 seconds)', 'rate(minutes)', 'rate( 5 minutes)', 'rate(-1 day)'])(
    '%s is refused',
    (expression) => {
      expect(() => occurrences(expression)).toThrow(/is invalid: it must be a positive number and minutes, hours or days/);
    },
  );
});

describe('a cron', () => {
  it.each([
    ['cron(0 12 * * ? *)', ['2026-11-16T12:00', '2026-11-17T12:00', '2026-11-18T12:00']],
    ['cron(*/15 10 * * ? *)', ['2026-11-16T10:15', '2026-11-16T10:30', '2026-11-16T10:45']],
    ['cron(5/20 10 * * ? *)', ['2026-11-16T10:05', '2026-11-16T10:25', '2026-11-16T10:45']],
    ['cron(0 9 ? * MON-FRI *)', ['2026-11-17T09:00', '2026-11-18T09:00', '2026-11-19T09:00']],
    ['cron(0 9 ? * 1 *)', ['2026-11-22T09:00', '2026-11-29T09:00', '2026-12-06T09:00']],
    ['cron(0 0 L * ? *)', ['2026-11-30T00:00', '2026-12-31T00:00', '2027-01-31T00:00']],
    ['cron(0 0 1W * ? *)', ['2026-12-01T00:00', '2027-01-01T00:00', '2027-02-01T00:00']],
    ['cron(0 0 ? * 6L *)', ['2026-11-27T00:00', '2026-12-25T00:00', '2027-01-29T00:00']],
    ['cron(0 0 ? * 2#1 *)', ['2026-12-07T00:00', '2027-01-04T00:00', '2027-02-01T00:00']],
    ['cron(0 0 1 JAN,jul ? 2027-2028)', ['2027-01-01T00:00', '2027-07-01T00:00', '2028-01-01T00:00']],
    ['cron(0 0 29 2 ? *)', ['2028-02-29T00:00', '2032-02-29T00:00', '2036-02-29T00:00']],
    ['cron(0 0 1 1 ? 2020)', []],
    ['cron(0 0 30 2 ? *)', []],
  ])('%s comes at %j', (expression, expected) => {
    expect(occurrences(expression)).toEqual(expected);
  });

  it.each([
    ['cron(0 12 * * ?)', /has 5 fields: it needs six/],
    ['cron(0 12 * * * *)', /exactly one of day-of-month and day-of-week must be \?/],
    ['cron(0 12 ? * ? *)', /exactly one of/],
    ['cron(60 12 * * ? *)', /minute '60' is invalid: it must be 0-59/],
    ['cron(0 12 * * ? 2200)', /year '2200' is invalid: it must be 1970-2199/],
    ['cron(0 12 * FOO ? *)', /month 'FOO' is invalid: it must be 1-12 or JAN-DEC/],
    ['cron(0 12 ? * 0 *)', /day of week '0' is invalid: it must be 1-7 or SUN-SAT/],
    ['cron(0 12 ? * 2#6 *)', /day of week '2#6' is invalid/],
    ['cron(0 12 32W * ? *)', /day of month '32W' is invalid/],
    ['cron(0-60 12 * * ? *)', /minute '0-60' is invalid/],
    ['cron(30-10 12 * * ? *)', /minute '30-10' is invalid/],
    ['cron(0/0 12 * * ? *)', /minute '0\/0' is invalid/],
    ['cron(, 12 * * ? *)', /minute ',' is invalid/],
    ['at(2026-12-01T00:00:00)', /one-time schedules do not run locally/],
    ['0 12 * * *', /neither a rate nor a cron/],
  ])('%s is refused', (expression, message) => {
    expect(() => occurrences(expression)).toThrow(message);
  });

  it('in an unknown time zone is refused', () => {
    expect(() => occurrences('cron(0 12 * * ? *)', { timeZone: 'Mars/Olympus' })).toThrow(/time zone 'Mars\/Olympus' is unknown/);
  });

  it('agrees with another implementation on UTC', () => {
    const list = (minimum: number, maximum: number) =>
      fc.oneof(
        fc.constant('*'),
        fc.uniqueArray(fc.integer({ min: minimum, max: maximum }), { minLength: 1, maxLength: 3 }).map((values) => values.join(',')),
        fc
          .tuple(fc.integer({ min: minimum, max: maximum }), fc.integer({ min: 1, max: 9 }))
          .map(([from, step]) => `${from}-${maximum}/${step}`),
      );
    const weekday = fc.constantFrom('SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT');
    const days = fc.oneof(
      fc
        .oneof(
          list(1, 31),
          fc.constant('L'),
          fc.integer({ min: 1, max: 31 }).map((day) => `${day}W`),
        )
        .map((day) => [day, '?', '*'] as const),
      fc
        .oneof(
          weekday,
          fc.tuple(weekday, fc.integer({ min: 1, max: 5 })).map(([day, week]) => `${day}#${week}`),
        )
        .map((day) => ['?', day, day] as const),
      weekday.map((day) => ['?', `${day}L`, `${day}#L`] as const),
    );
    const from = fc.date({ min: new Date('2020-01-01'), max: new Date('2030-01-01'), noInvalidDate: true });
    fc.assert(
      fc.property(
        list(0, 59),
        list(0, 23),
        days,
        list(1, 12),
        from,
        (minute, hour, [dayOfMonth, dayOfWeek, theirDayOfWeek], month, after) => {
          const ours = parseScheduleExpression(`cron(${minute} ${hour} ${dayOfMonth} ${month} ${dayOfWeek} *)`, { startedAt })(after);
          const pattern = `0 ${minute} ${hour} ${dayOfMonth === '?' ? '*' : dayOfMonth} ${month} ${theirDayOfWeek}`;
          const theirs = new Cron(pattern, { timezone: 'UTC' }).nextRun(after);
          expect(ours?.toISOString()).toBe(theirs?.toISOString());
        },
      ),
      { numRuns: 300 },
    );
  });
});

describe('on the days when New York changes its clocks, a cron', () => {
  const timeZone = 'America/New_York';

  it('skips a time that does not exist', () => {
    expect(occurrences('cron(30 2 * * ? *)', { after: '2027-03-13T00:00:00Z', timeZone })).toEqual([
      '2027-03-13T07:30',
      '2027-03-15T06:30',
      '2027-03-16T06:30',
    ]);
  });

  it('runs once at a time that comes twice', () => {
    expect(occurrences('cron(30 1 * * ? *)', { after: '2026-10-31T12:00:00Z', timeZone })).toEqual([
      '2026-11-01T05:30',
      '2026-11-02T06:30',
      '2026-11-03T06:30',
    ]);
  });

  it('does not go back to the repeated hour when it is asked during the second pass', () => {
    expect(occurrences('cron(*/30 * * * ? *)', { after: '2026-11-01T06:10:00Z', count: 2, timeZone })).toEqual([
      '2026-11-01T07:00',
      '2026-11-01T07:30',
    ]);
  });
});
