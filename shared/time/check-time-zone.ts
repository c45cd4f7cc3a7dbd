import { InvalidScheduleError } from './invalid-schedule-error.ts';

/**
 * Accepts the IANA names that this runtime knows, aliases included, and answers the name to store. Fixed offsets such as `+01:00` are
 * refused although Intl takes them: whoever writes one usually wants a place, and would be an hour off for half the year.
 */
export function checkTimeZone(zone = 'UTC'): string {
  const known = /^[A-Za-z]/.test(zone) ? resolveTimeZone(zone) : undefined;
  if (known === undefined) {
    const closest = suggestTimeZone(zone);
    const hint = closest === undefined ? `use 'UTC' or a name such as 'Europe/London'` : `did you mean '${closest}'?`;
    throw new InvalidScheduleError(`time zone '${zone.slice(0, 100)}' is invalid: it must be an IANA time zone name; ${hint}`);
  }
  // Intl answers old names for some aliases (Asia/Calcutta for Asia/Kolkata): only its capitals are better than what was written.
  return known.toLowerCase() === zone.toLowerCase() ? known : zone;
}

function resolveTimeZone(zone: string): string | undefined {
  try {
    return new Intl.DateTimeFormat('en-US', { timeZone: zone }).resolvedOptions().timeZone;
  } catch {
    return undefined;
  }
}

/** The zone of that city, or else the name that is at most three typing mistakes away. */
function suggestTimeZone(zone: string): string | undefined {
  const wanted = zone.trim().toLowerCase().replaceAll(' ', '_');
  if (wanted === '' || wanted.length > 50) return undefined;
  const names = Intl.supportedValuesOf('timeZone');
  const city = wanted.slice(wanted.lastIndexOf('/') + 1);
  const sameCity = names.find((name) => name.toLowerCase().endsWith(`/${city}`));
  if (sameCity !== undefined) return sameCity;
  let closest: string | undefined;
  let fewestMistakes = 4;
  for (const name of names) {
    const mistakes = countMistakes(wanted, name.toLowerCase());
    if (mistakes < fewestMistakes) [closest, fewestMistakes] = [name, mistakes];
  }
  return closest;
}

/** The Levenshtein distance, one row of its table at a time. */
function countMistakes(written: string, meant: string): number {
  let row = Array.from({ length: meant.length + 1 }, (_, column) => column);
  for (let line = 1; line <= written.length; line++) {
    const next = [line];
    for (let column = 1; column <= meant.length; column++) {
      const replaced = row[column - 1]! + (written[line - 1] === meant[column - 1] ? 0 : 1);
      next.push(Math.min(replaced, row[column]! + 1, next[column - 1]! + 1));
    }
    row = next;
  }
  return row[meant.length]!;
}
