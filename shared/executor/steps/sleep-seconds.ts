import { NonRetryableError } from '../../errors.ts';
import type { SleepDuration } from '../../model/workflow.ts';

const UNITS = { days: 86_400, hours: 3_600, minutes: 60, seconds: 1 };
const MOST_DAYS = 366;
const ALLOWED = `a number of seconds, or { days, hours, minutes, seconds }, from 0 to ${MOST_DAYS} days`;

/** The seconds to sleep, to the millisecond that instants are stored with. */
export function toSleepSeconds(path: string, duration: SleepDuration): number {
  const seconds = typeof duration === 'number' ? duration : sum(duration);
  if (!(seconds >= 0 && seconds <= MOST_DAYS * UNITS.days))
    throw new NonRetryableError(`sleep '${path}' has the duration ${JSON.stringify(duration)}: it must be ${ALLOWED}`);
  return Math.round(seconds * 1000) / 1000;
}

function sum(duration: Exclude<SleepDuration, number>): number {
  const parts = Object.entries(duration ?? {}).filter(([, amount]) => amount !== undefined);
  if (!parts.length || parts.some(([unit, amount]) => !(unit in UNITS) || typeof amount !== 'number')) return Number.NaN;
  return parts.reduce((total, [unit, amount]) => total + amount * UNITS[unit as keyof typeof UNITS], 0);
}
