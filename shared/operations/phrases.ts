import { toInstant } from './instant.ts';

const UNITS: [seconds: number, noun: string][] = [
  [86_400, 'day'],
  [3_600, 'hour'],
  [60, 'minute'],
  [1, 'second'],
];

/** `3 times`, `1 time` */
export function count(amount: number, noun: string): string {
  return `${amount} ${noun}${amount === 1 ? '' : 's'}`;
}

/** `2026-03-02T00:00:10.000Z (in 10 seconds)`, `2026-03-02T00:00:00.000Z (3 hours ago)`: the instant to compare with others, the distance to understand. */
export function instantSeenFrom(now: Date, at: Date | string): string {
  const seconds = Math.round((new Date(at).getTime() - now.getTime()) / 1000);
  // Twice the unit at least, so that rounding never hides more than a quarter.
  const [size, noun] = UNITS.find(([unit]) => Math.abs(seconds) >= 2 * unit) ?? [1, 'second'];
  const distance = count(Math.round(Math.abs(seconds) / size), noun);
  return `${toInstant(at)} (${seconds === 0 ? 'now' : seconds > 0 ? `in ${distance}` : `${distance} ago`})`;
}
