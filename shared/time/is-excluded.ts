import { type Exclusion, weekdays } from './exclusion.ts';
import { toWallClock, type WallClock } from './wall-clock.ts';

/** The first exclusion that an instant falls into, by what the clock and the calendar show in the zone at that instant. */
export function isExcluded(exclusions: readonly Exclusion[], instant: Date, timeZone: string): Exclusion | undefined {
  if (exclusions.length === 0) return undefined;
  const wall = toWallClock(instant, timeZone);
  return exclusions.find((exclusion) => excludes(exclusion, wall));
}

/** Dates and times are compared as text: in `YYYY-MM-DD` and `HH:MM` the order of the text is the order of time. */
function excludes(exclusion: Exclusion, wall: WallClock): boolean {
  const date = `${pad(wall.year, 4)}-${pad(wall.month, 2)}-${pad(wall.day, 2)}`;
  const time = `${pad(wall.hour, 2)}:${pad(wall.minute, 2)}`;
  switch (exclusion.type) {
    case 'weekdays':
      return exclusion.weekdays.includes(weekdays[wall.weekday]!);
    case 'dates':
      return exclusion.dates.includes(date);
    case 'date_range':
      return exclusion.from <= date && date <= exclusion.to;
    case 'time_window': {
      const { from, to } = exclusion;
      return from < to ? from <= time && time < to : from <= time || time < to;
    }
  }
}

function pad(value: number, length: number): string {
  return String(value).padStart(length, '0');
}
