import { messageOf } from '../errors.ts';
import { checkInstant } from '../time/check-instant.ts';
import { checkIntervalSeconds } from '../time/check-interval-seconds.ts';
import { checkTimeZone } from '../time/check-time-zone.ts';
import { parseCron } from '../time/parse-cron.ts';
import type { ScheduleDefinition } from './definition.ts';

export interface IntervalOptions {
  /** `occurrence` keeps a fixed rate, `completion` leaves the interval between the end of a run and the next start. */
  anchor?: 'occurrence' | 'completion';
}

function interval(unitSeconds: number) {
  return (count: number, { anchor = 'occurrence' }: IntervalOptions = {}): ScheduleDefinition => ({
    type: 'interval',
    intervalSeconds: count * unitSeconds,
    anchor,
  });
}

/** Schedules that repeat after a fixed time: `every.minutes(5)`. */
export const every = {
  seconds: interval(1),
  minutes: interval(60),
  hours: interval(60 * 60),
  days: interval(24 * 60 * 60),
};

/** A schedule by cron expression, evaluated on the wall clock of an IANA time zone: `cron('0 2 * * *', { timeZone: 'Europe/London' })`. */
export function cron(expression: string, { timeZone = 'UTC' }: { timeZone?: string } = {}): ScheduleDefinition {
  return { type: 'cron', expression, timeZone };
}

/** Everything that is wrong with a schedule. Apart from the constructors above, so that an app's mistakes are reported together. */
export function findScheduleMistakes(schedule: ScheduleDefinition): string[] {
  if (schedule.type === 'interval') return mistakesOf(() => checkIntervalSeconds(schedule.intervalSeconds));
  if (schedule.type === 'once') return mistakesOf(() => checkInstant(schedule.runAt));
  if (schedule.type !== 'cron') return [];
  return [...mistakesOf(() => parseCron(schedule.expression)), ...mistakesOf(() => checkTimeZone(schedule.timeZone))];
}

/** What a check that raises has to say, as a list. */
export function mistakesOf(check: () => unknown): string[] {
  try {
    check();
    return [];
  } catch (error) {
    return [messageOf(error)];
  }
}
