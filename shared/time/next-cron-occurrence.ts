import type { CronExpression } from './cron-expression.ts';
import { nextWallTime } from './next-wall-time.ts';
import { type ZonePeriod, zonePeriodAt } from './zone-offsets.ts';

const daySeconds = 86_400;

/**
 * The first occurrence from `from` on and before `end`, in whole seconds since 1970.
 *
 * Time is walked one even stretch of the zone's clock at a time, and inside a stretch the next wall time is plain arithmetic. The rules
 * are at the seams, and they differ by kind (see `isRoundTheClock`):
 * - The clock springs forward: a named time that it leaves out happens at the first instant after the gap; several of them happen
 *   there once. A date that a zone leaves out altogether (Samoa had no 30 December 2011) has no occurrences. Round the clock, what is left
 *   out does not exist.
 * - The clock falls back: a named time happens when it is shown first, and not again. Round the clock, both happen.
 * So a daily job runs once for every local date, and an hourly one once in every real hour.
 */
export function nextCronOccurrence(cron: CronExpression, timeZone: string, from: number, end: number): number | undefined {
  // Wall times run at most a day ahead of UTC: beyond this there is nothing to find before the end.
  const wallEnd = end + daySeconds;
  let position = from;
  let wallTime: number | undefined;
  let soughtFrom = from;
  while (position < end) {
    const period = zonePeriodAt(timeZone, position);
    if (!cron.isRoundTheClock && position === period.startAt && happensInGapBefore(cron, period)) return position;
    const shown = position + period.offset;
    const notYetShown = cron.isRoundTheClock ? shown : Math.max(shown, period.startAt + period.previousOffset);
    // A wall time found for an earlier period is still the next one, unless the clock has gone past it or back behind where it was sought.
    if (wallTime === undefined || wallTime < notYetShown || soughtFrom > notYetShown) {
      wallTime = nextWallTime(cron, notYetShown, wallEnd);
      soughtFrom = notYetShown;
      if (wallTime === undefined) return undefined;
    }
    const at = wallTime - period.offset;
    if (at < period.endAt) return at < end ? at : undefined;
    position = period.endAt;
  }
  return undefined;
}

/** Whether the gap at the start of a period, if there is one, swallowed a time of a date that exists. */
function happensInGapBefore(cron: CronExpression, { startAt, offset, previousOffset }: ZonePeriod): boolean {
  const gapStart = startAt + previousOffset;
  const gapEnd = startAt + offset;
  let wallTime = gapStart < gapEnd ? nextWallTime(cron, gapStart, gapEnd) : undefined;
  while (wallTime !== undefined) {
    const midnight = Math.floor(wallTime / daySeconds) * daySeconds;
    if (midnight < gapStart || midnight + daySeconds > gapEnd) return true;
    wallTime = nextWallTime(cron, midnight + daySeconds, gapEnd);
  }
  return false;
}
