import { nextOccurrence, type Schedule } from '../time/next-occurrence.ts';
import { occurrencesBetween } from '../time/occurrences-between.ts';

interface Missed {
  /** Itself an occurrence, and the first that was missed. */
  from: Date;
  /** The last instant that counts. */
  to: Date;
  isAllowed(occurrenceAt: Date): boolean;
}

/** So many occurrences in a row that no exclusion allows are looked at; what lies beyond is not caught up. */
const MOST_LOOKED_AT = 10_000;
const FIRST_WINDOW_MS = 3_600_000;

/** The first occurrence that is allowed. */
export function firstOccurrence(schedule: Schedule, { from, to, isAllowed }: Missed): Date | undefined {
  let occurrenceAt: Date | undefined = from;
  for (let count = 0; occurrenceAt && occurrenceAt <= to && count < MOST_LOOKED_AT; count++) {
    if (isAllowed(occurrenceAt)) return occurrenceAt;
    occurrenceAt = nextOccurrence(schedule, occurrenceAt);
  }
  return undefined;
}

/**
 * The latest occurrences that are allowed, oldest first. It looks back over windows that double: a schedule of seconds that nobody looked at for a month
 * has missed millions, of which the last few are wanted.
 */
export function latestOccurrences(schedule: Schedule, { from, to, isAllowed, most }: Missed & { most: number }): Date[] {
  const end = new Date(to.getTime() + 1);
  for (let windowMs = FIRST_WINDOW_MS; ; windowMs *= 2) {
    const begin = new Date(Math.max(from.getTime(), to.getTime() - windowMs));
    const all = occurrencesBetween(schedule, begin, end, Number.POSITIVE_INFINITY);
    const allowed = all.filter(isAllowed);
    if (allowed.length >= most || begin <= from || all.length >= Math.max(most, MOST_LOOKED_AT)) return allowed.slice(-most);
  }
}
