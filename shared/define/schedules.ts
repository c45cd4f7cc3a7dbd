import { messageOf } from '../errors.ts';
import { show } from '../model/show.ts';
import { checkInstant } from '../time/check-instant.ts';
import { checkIntervalSeconds } from '../time/check-interval-seconds.ts';
import { checkTimeZone } from '../time/check-time-zone.ts';
import { parseCron } from '../time/parse-cron.ts';
import type { ScheduleDefinition, TimedSchedule } from './definition.ts';

export interface IntervalOptions {
  /** `occurrence` keeps a fixed rate, `completion` leaves the interval between the end of a run and the next start. */
  anchor?: 'occurrence' | 'completion';
}

function interval(unitSeconds: number) {
  return (count: number, { anchor = 'occurrence' }: IntervalOptions = {}): TimedSchedule => ({
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
export function cron(expression: string, { timeZone = 'UTC' }: { timeZone?: string } = {}): TimedSchedule {
  return { type: 'cron', expression, timeZone };
}

/** Everything that is wrong with a schedule. Apart from the constructors above, so that an app's mistakes are reported together. */
export function findScheduleMistakes(schedule: ScheduleDefinition): string[] {
  switch (schedule.type) {
    case 'interval': {
      const { intervalSeconds, anchor } = schedule;
      return [
        ...mistakesOf(() => checkIntervalSeconds(intervalSeconds)),
        ...(anchor === 'occurrence' || anchor === 'completion'
          ? []
          : [`the interval's anchor must be 'occurrence' or 'completion', got ${show(anchor)}`]),
      ];
    }
    case 'once':
      return mistakesOf(() => checkInstant(schedule.runAt));
    case 'cron':
      return judgeCron(schedule.expression, schedule.timeZone);
    case 'dependent':
    case 'dormant_dependent':
    case 'none':
      return [];
  }
}

/** What was found, by expression and zone: a batch has thousands of one, and asking the runtime for a zone takes longer than everything else about a manifest. */
const judged = new Map<string, string[]>();
const maxJudged = 10_000;
/** What is longer is refused, and would be kept for nothing. */
const maxJudgedLength = 1_000;

function judgeCron(expression: string, timeZone: string): string[] {
  if (!isShortText(expression) || !isShortText(timeZone)) return findCronMistakes(expression, timeZone);
  const key = JSON.stringify([expression, timeZone]);
  const known = judged.get(key);
  if (known) return known;
  const mistakes = findCronMistakes(expression, timeZone);
  if (judged.size >= maxJudged) judged.clear();
  judged.set(key, mistakes);
  return mistakes;
}

function isShortText(value: unknown): boolean {
  return typeof value === 'string' && value.length <= maxJudgedLength;
}

function findCronMistakes(expression: string, timeZone: string): string[] {
  return [
    ...(typeof expression === 'string'
      ? mistakesOf(() => parseCron(expression))
      : [`cron expression must be a text, got ${show(expression)}`]),
    ...(typeof timeZone === 'string' ? mistakesOf(() => checkTimeZone(timeZone)) : [`time zone must be a text, got ${show(timeZone)}`]),
  ];
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
