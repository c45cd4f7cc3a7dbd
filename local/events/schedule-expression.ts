import { InvalidInputError } from '../../shared/errors.ts';
import { type NextAfter, parseCronExpression } from './cron-expression.ts';
import { zoneTime } from './zone-time.ts';

const UNIT_MS: Record<string, number> = { minute: 60_000, hour: 3_600_000, day: 86_400_000 };

/**
 * The occurrences of an EventBridge Scheduler expression. A rate starts at `startedAt`, at once, as Scheduler does without a start date, and a day is always 24
 * hours; a cron is evaluated on the wall clock of the time zone.
 */
export function parseScheduleExpression(
  expression: string,
  { timeZone = 'UTC', startedAt }: { timeZone?: string; startedAt: Date },
): NextAfter {
  const [, kind, content = ''] = /^(\w+)\((.*)\)$/.exec(expression.trim()) ?? [];
  if (kind === 'rate') return parseRate(content, startedAt);
  if (kind === 'cron') return parseCronExpression(content, zoneTime(timeZone));
  // One-time schedules would be a third kind here: one occurrence, at a wall time of the zone.
  const reason = kind === 'at' ? 'one-time schedules do not run locally' : 'it is neither a rate nor a cron';
  throw new InvalidInputError(
    'invalid_schedule',
    `schedule expression '${expression}' is refused: ${reason}; use rate(value unit) or cron(fields)`,
  );
}

/** The plural is right for every value, the singular only for 1. */
function parseRate(content: string, startedAt: Date): NextAfter {
  const [, valueText, unit = '', plural] = /^([1-9]\d*) (minute|hour|day)(s?)$/.exec(content) ?? [];
  const value = Number(valueText);
  if (!Number.isSafeInteger(value) || (value > 1 && plural === '')) {
    throw new InvalidInputError(
      'invalid_schedule',
      `rate(${content}) is invalid: it must be a positive number and minutes, hours or days, such as rate(1 minute) or rate(5 minutes)`,
    );
  }
  const intervalMs = value * UNIT_MS[unit]!;
  return (after) => {
    const elapsedMs = after.getTime() - startedAt.getTime();
    return new Date(startedAt.getTime() + Math.max(0, Math.floor(elapsedMs / intervalMs) + 1) * intervalMs);
  };
}
