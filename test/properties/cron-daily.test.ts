import { expect, it } from 'vitest';
import { nextOccurrence } from '../../shared/time/next-occurrence.ts';
import { findZoneChanges, offsetReader, type ZoneChange } from '../time/find-zone-changes.ts';

const daySeconds = 86_400;
const firstYear = 2020;
const lastYear = 2040;

interface Period {
  startAt: number;
  offset: number;
}

/**
 * Every date of every year in which a zone changes its clock is checked, at midnight and in the middle of each change. In other years its
 * clock runs evenly from the first date to the last, which one year shows.
 */
it('a daily job runs exactly once for every local date, in every zone, from 2020 to 2040', { timeout: 120_000 }, () => {
  let checkedDates = 0;
  for (const timeZone of Intl.supportedValuesOf('timeZone')) {
    const start = startOf(firstYear) - 3 * daySeconds;
    const changes = findZoneChanges(timeZone, start, startOf(lastYear + 1));
    const periods = [{ startAt: Number.NEGATIVE_INFINITY, offset: offsetReader(timeZone)(start) }].concat(
      changes.map((change) => ({ startAt: change.at, offset: change.after })),
    );
    for (let year = firstYear; year <= lastYear; year++) {
      const ofYear = changes.filter((change) => change.at >= startOf(year) && change.at < startOf(year + 1));
      if (ofYear.length === 0 && year > firstYear) continue;
      for (const timeOfDay of new Set([0, ...ofYear.map(middleOf)])) checkedDates += checkYear(timeZone, periods, year, timeOfDay);
    }
  }
  // About 160 zones change their clocks; a loop that found none would pass in silence.
  expect(checkedDates).toBeGreaterThan(1_000_000);
});

/** Walks the occurrences of a year beside its dates: one each, in order, none in between. */
function checkYear(timeZone: string, periods: readonly Period[], year: number, timeOfDay: number): number {
  const expression = `${Math.floor(timeOfDay / 60) % 60} ${Math.floor(timeOfDay / 3600)} * * *`;
  let occurrence = new Date((expectedAt(periods, startOf(year) + timeOfDay) - 1) * 1000);
  let dates = 0;
  for (let date = startOf(year); date < startOf(year + 1); date += daySeconds) {
    const next = nextOccurrence({ type: 'cron', expression, timeZone }, occurrence);
    const expected = new Date(expectedAt(periods, date + timeOfDay) * 1000);
    if (next?.getTime() !== expected.getTime()) {
      const day = new Date(date * 1000).toISOString().slice(0, 10);
      expect.fail(`${expression} in ${timeZone} for ${day}: expected ${expected.toISOString()}, got ${next?.toISOString()}`);
    }
    occurrence = next;
    dates++;
  }
  return dates;
}

/** The first instant at which the clock shows a wall time or, where it jumps over it, a later one. */
function expectedAt(periods: readonly Period[], wallTime: number): number {
  for (const [index, { startAt, offset }] of periods.entries()) {
    const at = wallTime - offset;
    if (at < (periods[index + 1]?.startAt ?? Number.POSITIVE_INFINITY)) return Math.max(at, startAt);
  }
  throw new Error('the last period has no end');
}

function middleOf({ at, before, after }: ZoneChange): number {
  const middle = at + (before + after) / 2;
  return (Math.floor(middle / 60) * 60) % daySeconds;
}

function startOf(year: number): number {
  return Date.UTC(year, 0, 1) / 1000;
}
