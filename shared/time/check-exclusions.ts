import { show } from '../model/show.ts';
import { type Exclusion, type Weekday, weekdays } from './exclusion.ts';
import { InvalidScheduleError } from './invalid-schedule-error.ts';

/** Accepts a list of exclusions from outside and answers it without anything that does not belong there. */
export function checkExclusions(value: unknown): Exclusion[] {
  if (!Array.isArray(value)) throw new InvalidScheduleError(`exclusions are invalid: they must be a list, got ${show(value)}`);
  return value.map((item: unknown, index) => {
    try {
      return checkExclusion(item);
    } catch (error) {
      if (!(error instanceof ExclusionProblem)) throw error;
      throw new InvalidScheduleError(`exclusion ${index + 1} is invalid: ${error.message}`);
    }
  });
}

class ExclusionProblem extends Error {}

function checkExclusion(item: unknown): Exclusion {
  if (typeof item !== 'object' || item === null) throw new ExclusionProblem(`it must be an object, got ${show(item)}`);
  const { type, from, to, ...lists } = item as Record<string, unknown>;
  switch (type) {
    case 'weekdays':
      return { type, weekdays: checkList('weekdays', lists.weekdays, checkWeekday) };
    case 'dates':
      return { type, dates: checkList('dates', lists.dates, checkDate) };
    case 'date_range': {
      const range = { type, from: checkDate(from), to: checkDate(to) } as const;
      if (range.from > range.to)
        throw new ExclusionProblem(`a date range must not end before it starts, got '${from}' to '${to}'; swap them`);
      return range;
    }
    case 'time_window': {
      const window = { type, from: checkTime(from), to: checkTime(to) } as const;
      if (window.from === window.to) {
        throw new ExclusionProblem(`a time window must not end when it starts, got '${from}' twice; exclude whole days by weekday or date`);
      }
      return window;
    }
    default:
      throw new ExclusionProblem(`type must be weekdays, dates, date_range or time_window, got ${show(type)}`);
  }
}

function checkList<Item>(name: string, value: unknown, check: (item: unknown) => Item): Item[] {
  if (!Array.isArray(value) || value.length === 0)
    throw new ExclusionProblem(`${name} must be a list with at least one entry, got ${show(value)}`);
  return value.map(check);
}

function checkWeekday(value: unknown): Weekday {
  const weekday = weekdays.find((name) => name === value);
  if (weekday === undefined) throw new ExclusionProblem(`a weekday must be one of ${weekdays.join(', ')}, got ${show(value)}`);
  return weekday;
}

function checkDate(value: unknown): string {
  // Dates that do not exist either fail to parse or come back as another day (30 February as 2 March).
  const date = typeof value === 'string' && /^\d{4}-\d{2}-\d{2}$/.test(value) ? new Date(`${value}T00:00:00Z`) : undefined;
  if (date !== undefined && !Number.isNaN(date.getTime()) && date.toISOString().startsWith(value as string)) return value as string;
  throw new ExclusionProblem(`a date must exist and be written YYYY-MM-DD, got ${show(value)}`);
}

function checkTime(value: unknown): string {
  if (typeof value === 'string' && /^([01]\d|2[0-3]):[0-5]\d$/.test(value)) return value;
  throw new ExclusionProblem(`a time must be written HH:MM, from 00:00 to 23:59, got ${show(value)}`);
}
