import { InvalidInputError } from '../../shared/errors.ts';
import { parseDayOfMonth, parseDayOfWeek } from './cron-day.ts';
import { type CronField, parseCronField } from './cron-field.ts';
import type { ZoneTime } from './zone-time.ts';

const MINUTE: CronField = { name: 'minute', minimum: 0, maximum: 59 };
const HOUR: CronField = { name: 'hour', minimum: 0, maximum: 23 };
const MONTH_NAMES = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'];
const MONTH: CronField = { name: 'month', minimum: 1, maximum: 12, names: MONTH_NAMES };
const YEAR: CronField = { name: 'year', minimum: 1970, maximum: 2199 };
const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

export type NextAfter = (after: Date) => Date | undefined;

/**
 * The occurrences of AWS's `cron(minutes hours day-of-month month day-of-week year)`. It is not the cron of a manifest: six fields, Sunday is 1, one of the two
 * days must be `?`, and EventBridge Scheduler's own rule for daylight saving: a time that the clocks jump over is skipped, one that they repeat runs once.
 */
export function parseCronExpression(fieldsText: string, zone: ZoneTime): NextAfter {
  const fields = fieldsText.trim().split(/\s+/);
  const [minuteText, hourText, dayOfMonthText, monthText, dayOfWeekText, yearText] = fields as [
    string,
    string,
    string,
    string,
    string,
    string,
  ];
  if (fields.length !== 6) {
    throw new InvalidInputError(
      'invalid_schedule',
      `cron(${fieldsText}) has ${fields.length} fields: it needs six, minutes hours day-of-month month day-of-week year`,
    );
  }
  if ((dayOfMonthText === '?') === (dayOfWeekText === '?')) {
    throw new InvalidInputError(
      'invalid_schedule',
      `cron(${fieldsText}) is invalid: exactly one of day-of-month and day-of-week must be ?`,
    );
  }
  const minutes = ascending(parseCronField(minuteText, MINUTE));
  const hours = ascending(parseCronField(hourText, HOUR));
  const months = parseCronField(monthText, MONTH);
  const years = parseCronField(yearText, YEAR);
  const isDay = dayOfWeekText === '?' ? parseDayOfMonth(dayOfMonthText) : parseDayOfWeek(dayOfWeekText);
  const lastYear = Math.max(...years);
  const timesOf = (day: number) => hours.flatMap((hour) => minutes.map((minute) => day + (hour * 60 + minute) * MINUTE_MS));

  return (after) => {
    const start = zone.toWallTime(after).getTime();
    for (let day = Math.floor(start / DAY_MS) * DAY_MS; new Date(day).getUTCFullYear() <= lastYear; day += DAY_MS) {
      const date = new Date(day);
      if (!years.has(date.getUTCFullYear()) || !months.has(date.getUTCMonth() + 1) || !isDay(date)) continue;
      for (const wallTime of timesOf(day)) {
        if (wallTime < start) continue;
        // While the clocks repeat an hour, its times belong to the first pass and may lie behind us.
        const instant = zone.toInstant(new Date(wallTime));
        if (instant !== undefined && instant > after) return instant;
      }
    }
    return undefined;
  };
}

function ascending(values: Set<number>): number[] {
  return [...values].sort((a, b) => a - b);
}
