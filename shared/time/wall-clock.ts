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
