import { InvalidInputError } from '../../shared/errors.ts';

const DAY_MS = 86_400_000;

/** Converts between instants and a zone's wall clock. Wall times are written as the UTC instant that shows the same digits. */
export interface ZoneTime {
  toWallTime(instant: Date): Date;
  /** The first instant at which the clocks show this time; undefined when they jump over it. */
  toInstant(wallTime: Date): Date | undefined;
}

export function zoneTime(timeZone: string): ZoneTime {
  let format: Intl.DateTimeFormat;
  try {
    format = new Intl.DateTimeFormat('en-US', {
      timeZone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
  } catch (cause) {
    throw new InvalidInputError('invalid_time_zone', `time zone '${timeZone}' is unknown: use an IANA name such as Europe/London`, {
      cause,
    });
  }
  const toWallTime = (instant: Date): Date => {
    const parts = Object.fromEntries(format.formatToParts(instant).map(({ type, value }) => [type, Number(value)]));
    return new Date(
      Date.UTC(parts.year!, parts.month! - 1, parts.day, parts.hour, parts.minute, parts.second) + instant.getUTCMilliseconds(),
    );
  };
  const offsetMs = (instant: number): number => toWallTime(new Date(instant)).getTime() - instant;
  return {
    toWallTime,
    toInstant(wallTime) {
      // An offset changes at most once within two days, so the offsets before and after give every candidate; the larger offset is the earlier instant.
      const wall = wallTime.getTime();
      const offsets = [offsetMs(wall - DAY_MS), offsetMs(wall + DAY_MS)].sort((a, b) => b - a);
      const instants = offsets.map((offset) => new Date(wall - offset));
      return instants.find((instant) => toWallTime(instant).getTime() === wall);
    },
  };
}
