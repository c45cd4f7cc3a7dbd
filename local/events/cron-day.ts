import { type CronField, invalidField, parseCronField, parseCronValue } from './cron-field.ts';

const DAY_OF_MONTH: CronField = { name: 'day of month', minimum: 1, maximum: 31 };
const DAY_OF_WEEK: CronField = { name: 'day of week', minimum: 1, maximum: 7, names: ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'] };

/** Whether a calendar day, written as midnight UTC, is meant. */
export type DayRule = (day: Date) => boolean;

/** `*`, values, `L` (the last day) and `15W` (the weekday nearest to the 15th, within its month). */
export function parseDayOfMonth(text: string): DayRule {
  if (text === 'L') return (day) => day.getUTCDate() === lastDayOfMonth(day);
  const nearest = /^(\d+)W$/.exec(text);
  if (nearest) {
    const target = parseCronValue(nearest[1]!, text, DAY_OF_MONTH);
    return (day) => day.getUTCDate() === nearestWeekday(day, target);
  }
  const days = parseCronField(text, DAY_OF_MONTH);
  return (day) => days.has(day.getUTCDate());
}

/** `*`, values with Sunday as 1, `6L` (the last Friday of the month) and `2#1` (its first Monday). A bare `L` is Saturday, the last day of the week. */
export function parseDayOfWeek(text: string): DayRule {
  if (text === 'L') return (day) => dayOfWeek(day) === 7;
  const last = /^(\w+)L$/.exec(text);
  if (last) {
    const target = parseCronValue(last[1]!, text, DAY_OF_WEEK);
    return (day) => dayOfWeek(day) === target && day.getUTCDate() > lastDayOfMonth(day) - 7;
  }
  const numbered = /^(\w+)#(\d+)$/.exec(text);
  if (numbered) {
    const target = parseCronValue(numbered[1]!, text, DAY_OF_WEEK);
    const week = Number(numbered[2]);
    if (week < 1 || week > 5) throw invalidField(text, DAY_OF_WEEK);
    return (day) => dayOfWeek(day) === target && Math.ceil(day.getUTCDate() / 7) === week;
  }
  const days = parseCronField(text, DAY_OF_WEEK);
  return (day) => days.has(dayOfWeek(day));
}

const dayOfWeek = (day: Date): number => day.getUTCDay() + 1;

function lastDayOfMonth(day: Date): number {
  return new Date(Date.UTC(day.getUTCFullYear(), day.getUTCMonth() + 1, 0)).getUTCDate();
}

/** A Saturday moves to the Friday before and a Sunday to the Monday after, unless that is in another month. A month without the day has none. */
function nearestWeekday(day: Date, target: number): number | undefined {
  const last = lastDayOfMonth(day);
  if (target > last) return undefined;
  const weekday = new Date(Date.UTC(day.getUTCFullYear(), day.getUTCMonth(), target)).getUTCDay();
  if (weekday === 6) return target === 1 ? target + 2 : target - 1;
  if (weekday === 0) return target === last ? target - 2 : target + 1;
  return target;
}
