import type { CronDays, CronWeekdays } from './cron-expression.ts';
import { dayOfMonthRule, dayOfWeekRule } from './cron-field.ts';
import { CronFieldProblem, parseCronField, parseCronValue } from './parse-cron-field.ts';

/** Reads the two day fields. `?` means `*`, and only there. */
export function parseCronDays(dayOfMonth: readonly string[], dayOfWeek: readonly string[]): CronDays {
  const numbers = dayOfMonth.filter((item) => item.toUpperCase() !== 'L');
  return {
    ofMonth: isWildcard(dayOfMonth) ? undefined : new Set(parseCronField(dayOfMonthRule, numbers)),
    isLastOfMonth: numbers.length < dayOfMonth.length,
    ofWeek: isWildcard(dayOfWeek) ? undefined : parseWeekdays(dayOfWeek),
  };
}

function parseWeekdays(items: readonly string[]): CronWeekdays {
  const nth: { weekday: number; nth: number }[] = [];
  const last = new Set<number>();
  const plain: string[] = [];
  for (const item of items) {
    const [, lastOf, nthOf, count] = /^(?:(\w+)L|(\w+)#(\w+))$/i.exec(item) ?? [];
    if (lastOf !== undefined) last.add(parseCronValue(dayOfWeekRule, lastOf, item) % 7);
    else if (nthOf !== undefined) nth.push({ weekday: parseCronValue(dayOfWeekRule, nthOf, item) % 7, nth: parseNth(count!, item) });
    else plain.push(item);
  }
  return { every: new Set(parseCronField(dayOfWeekRule, plain).map((weekday) => weekday % 7)), nth, last };
}

function parseNth(text: string, item: string): number {
  if (/^[1-5]$/.test(text)) return Number(text);
  throw new CronFieldProblem(`day of week after # must be 1-5 (the first to the fifth in the month), got '${item}'`);
}

function isWildcard(items: readonly string[]): boolean {
  return items.length === 1 && (items[0] === '*' || items[0] === '?');
}
