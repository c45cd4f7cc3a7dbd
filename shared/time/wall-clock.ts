import { zonePeriodAt } from './zone-offsets.ts';

/** What a clock and a calendar on the wall show. */
export interface WallClock {
  readonly year: number;
  /** 1-12. */
  readonly month: number;
  readonly day: number;
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
  /** 0 is Sunday. */
  readonly weekday: number;
}

/**
 * What a wall time means in a zone. `gap`: the clock sprang over it, the first instant after the gap is given. `overlap`: the clock fell back and
 * showed it twice.
 */
export type WallTimeMeaning =
  | { readonly type: 'unique'; readonly at: Date }
  | { readonly type: 'overlap'; readonly firstAt: Date; readonly secondAt: Date }
  | { readonly type: 'gap'; readonly endsAt: Date };

const daySeconds = 86_400;

/** What the clock on a wall in the zone shows at an instant. */
export function toWallClock(instant: Date, timeZone: string): WallClock {
  const at = Math.floor(instant.getTime() / 1000);
  const shown = new Date((at + zonePeriodAt(timeZone, at).offset) * 1000);
  return {
    year: shown.getUTCFullYear(),
    month: shown.getUTCMonth() + 1,
    day: shown.getUTCDate(),
    hour: shown.getUTCHours(),
    minute: shown.getUTCMinutes(),
    second: shown.getUTCSeconds(),
    weekday: shown.getUTCDay(),
  };
}

/** The instant or instants at which the zone's clock shows a wall time. */
export function fromWallClock(wall: Omit<WallClock, 'weekday'>, timeZone: string): WallTimeMeaning {
  const wallTime = Date.UTC(wall.year, wall.month - 1, wall.day, wall.hour, wall.minute, wall.second) / 1000;
  // No clock is a whole day away from UTC, so whatever the wall time means lies between these two.
  const before = zonePeriodAt(timeZone, wallTime - daySeconds).offset;
  const after = zonePeriodAt(timeZone, wallTime + daySeconds).offset;
  const [firstAt, secondAt] = [...new Set([wallTime - before, wallTime - after])]
    .filter((at) => at + zonePeriodAt(timeZone, at).offset === wallTime)
    .sort((a, b) => a - b);
  if (firstAt === undefined) return { type: 'gap', endsAt: toDate(zonePeriodAt(timeZone, wallTime - before).startAt) };
  if (secondAt === undefined) return { type: 'unique', at: toDate(firstAt) };
  return { type: 'overlap', firstAt: toDate(firstAt), secondAt: toDate(secondAt) };
}

function toDate(seconds: number): Date {
  return new Date(seconds * 1000);
}
