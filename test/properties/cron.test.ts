import { CronExpressionParser } from 'cron-parser';
import { Cron } from 'croner';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { InvalidScheduleError } from '../../shared/time/invalid-schedule-error.ts';
import { nextOccurrence } from '../../shared/time/next-occurrence.ts';
import { occurrencesBetween } from '../../shared/time/occurrences-between.ts';
import { parseCron } from '../../shared/time/parse-cron.ts';
import { toWallClock, type WallClock } from '../../shared/time/wall-clock.ts';
import { cronExpression, hourField, instant, minuteField, oddZones, timeZone } from '../time/cron-arbitraries.ts';
import { findZoneChanges, offsetReader, type ZoneChange } from '../time/find-zone-changes.ts';

const daySeconds = 86_400;
const minuteSeconds = 60;

function isAccepted(expression: string): boolean {
  try {
    parseCron(expression);
    return true;
  } catch (error) {
    expect(error).toBeInstanceOf(InvalidScheduleError);
    return false;
  }
}

describe('cron expressions', () => {
  it('occur strictly later each time, in any zone, from any instant', () => {
    fc.assert(
      fc.property(cronExpression, fc.oneof(timeZone, fc.constantFrom(...oddZones)), instant, (expression, zone, start) => {
        fc.pre(isAccepted(expression));
        let after = start;
        for (let count = 0; count < 20; count++) {
          const next = nextOccurrence({ type: 'cron', expression, timeZone: zone }, after)!;
          expect(next.getTime()).toBeGreaterThan(after.getTime());
          expect(next.getTime() % 1000).toBe(0);
          after = next;
        }
      }),
      { numRuns: 1500 },
    );
  });

  it('occur at the same instants whichever instant one starts to look from', () => {
    fc.assert(
      fc.property(cronExpression, fc.constantFrom(...oddZones), instant, fc.nat({ max: 1_000_000 }), (expression, zone, start, share) => {
        fc.pre(isAccepted(expression));
        const schedule = { type: 'cron', expression, timeZone: zone } as const;
        const next = nextOccurrence(schedule, start)!;
        const between = new Date(start.getTime() + Math.floor(((next.getTime() - 1 - start.getTime()) * share) / 1_000_000));
        expect(nextOccurrence(schedule, between)).toEqual(next);
      }),
      { numRuns: 1500 },
    );
  });

  it('name the same times as cron-parser where the clock never changes, and what it cannot find is refused', () => {
    fc.assert(
      fc.property(cronExpression, instant, (expression, start) => {
        const oracle = () => {
          const cron = CronExpressionParser.parse(expression, { tz: 'UTC', currentDate: start });
          return [cron.next().getTime(), cron.next().getTime(), cron.next().getTime()];
        };
        if (!isAccepted(expression)) {
          expect(oracle).toThrow();
          return;
        }
        const end = new Date('9999-01-01T00:00:00Z');
        const found = occurrencesBetween({ type: 'cron', expression, timeZone: 'UTC' }, new Date(start.getTime() + 1), end, 3);
        expect(found.map((at) => at.getTime())).toEqual(oracle());
      }),
      { numRuns: 400 },
    );
  });

  /**
   * croner follows the same two rules at a change of the clock, but draws the line between them elsewhere. Where the two differ:
   * - By rule: for croner only plain numbers for second, minute and hour name a time; several (`0,30 1 * * *`) or a range (`0 2-2 * * *`)
   *   happen twice when the clock falls back, and are lost in a gap. So these are compared only away from changes.
   * - By rule: a named time whose gap ends on the next date (23:30 in Nuuk) is lost; here it happens at midnight, when that date ends.
   * - By mistake: croner looks for named days up to the 31st in February too, and from there steps over the first days of March
   *   (`0 0 1,31 * *` skips 1 March). That cron-parser agrees with us there is part of the comparison with it.
   */
  it('occur when croner says so, in every zone, but for the differences above', () => {
    let compared = 0;
    fc.assert(
      fc.property(cronExpression, fc.oneof(timeZone, fc.constantFrom(...oddZones)), instant, (expression, zone, start) => {
        fc.pre(isAccepted(expression));
        const cron = parseCron(expression);
        const ours = nextOccurrence({ type: 'cron', expression, timeZone: zone }, start)!;
        const theirs = new Cron(expression, { timezone: zone }).nextRun(start)!;
        if (ours < theirs && isStartOfMarch(toWallClock(ours, zone))) return;
        if (ours.getTime() !== theirs.getTime() && !cron.isRoundTheClock) {
          const isOneTime = expression
            .split(' ')
            .slice(0, -3)
            .every((field) => /^\d+$/.test(field));
          const first = Math.min(ours.getTime(), theirs.getTime()) / 1000;
          const changes = findZoneChanges(zone, first - 2 * daySeconds, first + 2 * daySeconds);
          if (changes.some((change) => !isOneTime || endsOnNextDate(change))) return;
        }
        compared++;
        expect(ours.toISOString()).toBe(theirs.toISOString());
      }),
      { numRuns: 1500 },
    );
    expect(compared).toBeGreaterThan(1000);
  });

  it('obey the rule for gaps and overlaps, minute by minute around changes of the clock', () => {
    const changesOf = Object.fromEntries(
      oddZones.map((zone) => [zone, findZoneChanges(zone, Date.UTC(2020, 0, 1) / 1000, Date.UTC(2040, 0, 1) / 1000)]),
    );
    fc.assert(
      fc.property(
        fc.constantFrom(...oddZones),
        fc.nat(),
        minuteField,
        hourField,
        fc.nat({ max: 4 }),
        (zone, pick, minute, anyHour, near) => {
          const change = changesOf[zone]![pick % changesOf[zone]!.length]!;
          // The hour that the change leaves out or repeats, alone and in company: most random hours are far from it.
          const hour = Math.floor((((change.at + Math.min(change.before, change.after)) % daySeconds) / daySeconds) * 24);
          const nearHours = [`${hour}`, `${hour},${(hour + 1) % 24}`, `0-${hour}`];
          expectRuleAround(zone, change, `${minute} ${nearHours[near] ?? anyHour} * * *`);
        },
      ),
      { numRuns: 150 },
    );
  });

  it('obey the same rule when a zone left out a whole date', () => {
    const [change] = findZoneChanges('Pacific/Apia', Date.UTC(2011, 11, 20) / 1000, Date.UTC(2012, 0, 10) / 1000);
    expect(change!.after - change!.before).toBe(daySeconds);
    for (const time of ['0 0', '30 12', '*/20 9,10', '0 *', '15 */6']) expectRuleAround('Pacific/Apia', change!, `${time} * * *`);
  });
});

function isStartOfMarch({ month, day }: WallClock): boolean {
  return month === 3 && day <= 3;
}

function endsOnNextDate({ at, before, after }: ZoneChange): boolean {
  return Math.floor((at + before) / daySeconds) < Math.floor((at + after) / daySeconds);
}

/** Compares with the rule applied to every single minute: what Intl shows at each, and which times of day cron-parser says are named. */
function expectRuleAround(zone: string, change: ZoneChange, expression: string): void {
  const readOffset = offsetReader(zone);
  const isNamed = namedTimesOfDay(expression);
  const { isRoundTheClock } = parseCron(expression);
  const expected = new Set<number>();
  const shownFirstAt = new Map<number, number>();
  for (let at = change.at - 2 * daySeconds; at < change.at + 2 * daySeconds; at += minuteSeconds) {
    const wallTime = at + readOffset(at);
    if (!shownFirstAt.has(wallTime)) shownFirstAt.set(wallTime, at);
    if (isRoundTheClock && isNamed(wallTime)) expected.add(at);
  }
  if (!isRoundTheClock) {
    const wallTimes = [...shownFirstAt.keys()].sort((a, b) => a - b);
    const datesShown = new Set(wallTimes.map((wallTime) => Math.floor(wallTime / daySeconds)));
    for (let wallTime = wallTimes[0]!; wallTime < wallTimes.at(-1)!; wallTime += minuteSeconds) {
      if (!isNamed(wallTime) || !datesShown.has(Math.floor(wallTime / daySeconds))) continue;
      expected.add(shownFirstAt.get(wallTime) ?? change.at);
    }
  }
  const from = change.at - daySeconds;
  const to = change.at + daySeconds;
  const inWindow = [...expected].filter((at) => at >= from && at < to).sort((a, b) => a - b);
  const found = occurrencesBetween({ type: 'cron', expression, timeZone: zone }, new Date(from * 1000), new Date(to * 1000), 10_000);
  expect(found.map((at) => at.toISOString())).toEqual(inWindow.map((at) => new Date(at * 1000).toISOString()));
}

function namedTimesOfDay(expression: string): (wallTime: number) => boolean {
  const cron = CronExpressionParser.parse(expression, { tz: 'UTC' });
  const minutes = new Set<number>();
  for (let second = 0; second < daySeconds; second += minuteSeconds) if (cron.includesDate(new Date(second * 1000))) minutes.add(second);
  return (wallTime) => minutes.has(wallTime % daySeconds);
}
