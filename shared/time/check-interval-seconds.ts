import { show } from '../model/show.ts';
import { InvalidScheduleError } from './invalid-schedule-error.ts';

/** A longer pause than a year is a cron expression or a one-time run, and most often a mistake in the unit. */
const longestIntervalSeconds = 365 * 24 * 60 * 60;

/** Accepts what an interval schedule may repeat at, and answers it as a number. */
export function checkIntervalSeconds(value: unknown): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= longestIntervalSeconds) return value;
  throw new InvalidScheduleError(
    `interval is invalid: it must be a whole number of seconds from 1 to ${longestIntervalSeconds} (one year), got ${show(value)}`,
  );
}
