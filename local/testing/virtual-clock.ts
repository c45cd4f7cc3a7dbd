import { InvalidInputError, messageOf } from '../../shared/errors.ts';
import { checkInstant } from '../../shared/time/check-instant.ts';
import type { Clock } from '../../shared/time/clock.ts';

/** A `Date`, or text with an offset: `2026-01-01T00:00:00Z`. */
export type Instant = Date | string;

/** The sum of what is said; a day has 24 hours. */
export interface Duration {
  days?: number;
  hours?: number;
  minutes?: number;
  seconds?: number;
  milliseconds?: number;
}

const UNITS: Required<Duration> = { days: 86_400_000, hours: 3_600_000, minutes: 60_000, seconds: 1_000, milliseconds: 1 };

/** Stands still unless it is moved, and is never moved back. */
export interface VirtualClock extends Clock {
  moveTo(at: Date): void;
}

export function createClock(startAt: Date): VirtualClock {
  let now = startAt.getTime();
  return {
    now: () => new Date(now),
    moveTo(at) {
      now = Math.max(now, at.getTime());
    },
  };
}

export function readInstant(field: string, given: Instant): Date {
  try {
    return checkInstant(typeof given === 'string' ? given : given.toISOString());
  } catch (error) {
    throw new InvalidInputError('invalid_instant', `${field} cannot be '${String(given)}': ${messageOf(error)}`, { cause: error });
  }
}

export function toMilliseconds(duration: Duration): number {
  const parts = Object.entries(duration ?? {}).filter(([, amount]) => amount !== undefined);
  const isSound = parts.length > 0 && parts.every(([unit, amount]) => unit in UNITS && amount >= 0 && Number.isFinite(amount));
  if (isSound) return parts.reduce((total, [unit, amount]) => total + amount * UNITS[unit as keyof Duration], 0);
  throw new InvalidInputError(
    'invalid_duration',
    `duration ${JSON.stringify(duration)} is invalid: give at least one of ${Object.keys(UNITS).join(', ')}, none of them negative, for example { hours: 1 }`,
  );
}
