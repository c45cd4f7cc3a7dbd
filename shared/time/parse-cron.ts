import type { CronExpression } from './cron-expression.ts';
import { hourRule, minuteRule, monthRule, secondRule } from './cron-field.ts';
import { InvalidScheduleError } from './invalid-schedule-error.ts';
import { nextWallTime } from './next-wall-time.ts';
import { parseCronDays } from './parse-cron-days.ts';
import { CronFieldProblem, parseCronField } from './parse-cron-field.ts';

const macros: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
};

/** Listing every value of every field takes some 500 characters. */
const longestExpression = 1000;

/** The Gregorian calendar, weekdays included, repeats after 400 years: what does not occur in these never does. */
const calendarStart = Date.UTC(2000, 0, 1) / 1000;
const calendarEnd = Date.UTC(2400, 0, 1) / 1000;

/** Reads a cron expression, or refuses it with the field, what was received and what is allowed. */
export function parseCron(expression: string): CronExpression {
  const trimmed = expression.trim();
  try {
    const cron = parseFields(trimmed);
    if (nextWallTime(cron, calendarStart, calendarEnd) === undefined) {
      throw new CronFieldProblem('it never occurs, because no month it names has such a day; change the day or the month');
    }
    return cron;
  } catch (error) {
    if (!(error instanceof CronFieldProblem)) throw error;
    const shown = trimmed.length > 100 ? `${trimmed.slice(0, 100)}…` : trimmed;
    throw new InvalidScheduleError(`cron expression '${shown}' is invalid: ${error.message}`);
  }
}

function parseFields(expression: string): CronExpression {
  if (expression.length > longestExpression) {
    throw new CronFieldProblem(`it must have at most ${longestExpression} characters, got ${expression.length}`);
  }
  if (expression.startsWith('@')) {
    const meant = Object.hasOwn(macros, expression.toLowerCase()) ? macros[expression.toLowerCase()] : '0 0 * * *';
    throw new CronFieldProblem(`macros are not supported; write the fields, for example '${meant}'`);
  }
  const fields = expression.split(/\s+/);
  const count = expression === '' ? 0 : fields.length;
  if (count !== 5 && count !== 6) {
    const hint = count === 7 ? '; there is no field for the year' : '';
    throw new CronFieldProblem(
      `it must have 5 fields (minute, hour, day of month, month, day of week) or 6 with seconds first, got ${count}${hint}`,
    );
  }
  const [second, minute, hour, dayOfMonth, month, dayOfWeek] = (count === 6 ? fields : ['0', ...fields]).map((field) => field.split(','));
  const seconds = parseCronField(secondRule, second!);
  const minutes = parseCronField(minuteRule, minute!);
  const hours = parseCronField(hourRule, hour!);
  const days = parseCronDays(dayOfMonth!, dayOfWeek!);
  const months = parseCronField(monthRule, month!);
  const isRoundTheClock = hour!.some((item) => item.startsWith('*')) || hours.length === 24;
  return { expression, seconds, minutes, hours, months, days, isRoundTheClock };
}
