import { nextOccurrence, type Schedule } from './next-occurrence.ts';

/** The occurrences from `from` on and before `to`, the first `limit` of them: adjoining windows neither miss one nor show one twice. */
export function occurrencesBetween(schedule: Schedule, from: Date, to: Date, limit: number): Date[] {
  const occurrences: Date[] = [];
  let after = new Date(from.getTime() - 1);
  while (occurrences.length < limit) {
    const next = nextOccurrence(schedule, after);
    if (next === undefined || next >= to) break;
    occurrences.push(next);
    after = next;
  }
  return occurrences;
}
