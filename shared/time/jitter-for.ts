import { hash } from 'node:crypto';

/**
 * How many whole seconds after its occurrence a manifest becomes due: from 0 to `jitterSeconds`, spread evenly over manifests and
 * occurrences. It is computed from the two and nothing else, so a manager that repeats a cycle, after a crash or beside another, comes
 * to the same instant, and lateness can be measured from it later without having stored it.
 */
export function jitterFor(manifestKey: string, occurrenceAt: Date, jitterSeconds: number): number {
  if (jitterSeconds <= 0) return 0;
  const digest = hash('sha256', `${manifestKey}\n${occurrenceAt.getTime()}`, 'hex');
  // 48 bits are exact in a number, and so many that no remainder is noticeably likelier than another.
  return Number.parseInt(digest.slice(0, 12), 16) % (jitterSeconds + 1);
}
