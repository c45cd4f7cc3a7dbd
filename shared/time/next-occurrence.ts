import type { CronExpression } from './cron-expression.ts';
import { nextCronOccurrence } from './next-cron-occurrence.ts';
import { parseCron } from './parse-cron.ts';

/** When a timed manifest runs. */
export type Schedule =
  | { readonly type: 'cron'; readonly expression: string; readonly timeZone: string }
  /** A fixed rate: `from` (the previous occurrence, or the registration) and every `intervalSeconds` after it. */
  | { readonly type: 'interval'; readonly intervalSeconds: number; readonly from: Date }
  | { readonly type: 'once'; readonly runAt: Date };

/** Nothing is looked for in earlier years, nor from this later one on: the calendar arithmetic and ISO 8601 strings are plain in between. */
const earliest = Date.UTC(1900, 0, 1);
const horizon = Date.UTC(9999, 0, 1);

/** Parsed expressions, by their text: reading one costs more than finding its next occurrence. */
const parsed = new Map<string, CronExpression>();
const maxParsed = 10_000;

/**
 * The first occurrence strictly after an instant, or undefined when there is none before the year 9999. A pure function of its
 * arguments (and of the runtime's time zone data), so managers that race or repeat a cycle agree on every occurrence.
 */
export function nextOccurrence(schedule: Schedule, after: Date): Date | undefined {
  const afterMs = after.getTime();
  if (Number.isNaN(afterMs)) throw new RangeError('cannot look for an occurrence after an invalid date; pass a valid instant');
  const nextMs = findNext(schedule, Math.max(afterMs, earliest));
  return nextMs !== undefined && nextMs > afterMs && nextMs < horizon ? new Date(nextMs) : undefined;
}

function findNext(schedule: Schedule, afterMs: number): number | undefined {
  switch (schedule.type) {
    case 'cron': {
      const at = nextCronOccurrence(readExpression(schedule.expression), schedule.timeZone, Math.floor(afterMs / 1000) + 1, horizon / 1000);
      return at === undefined ? undefined : at * 1000;
    }
    case 'interval': {
      const fromMs = schedule.from.getTime();
      const intervalMs = schedule.intervalSeconds * 1000;
      return afterMs < fromMs ? fromMs : fromMs + (Math.floor((afterMs - fromMs) / intervalMs) + 1) * intervalMs;
    }
    case 'once':
      return schedule.runAt.getTime();
  }
}

function readExpression(expression: string): CronExpression {
  let cron = parsed.get(expression);
  if (cron === undefined) {
    cron = parseCron(expression);
    if (parsed.size >= maxParsed) parsed.clear();
    parsed.set(expression, cron);
  }
  return cron;
}
