import { InvalidScheduleError } from './invalid-schedule-error.ts';

const ISO_INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d)$/;

/** Accepts an instant with its offset, `2026-12-24T18:00:00Z`, of a date that exists, in the years for which occurrences are computed. */
export function checkInstant(text: string): Date {
  const at = new Date(text);
  const isReal = ISO_INSTANT.test(text) && !Number.isNaN(at.getTime()) && isRealDate(text.slice(0, 10)) && isComputed(at.getUTCFullYear());
  if (isReal) return at;
  throw new InvalidScheduleError(
    `instant '${text.slice(0, 100)}' is invalid: write a date that exists, a time and an offset, from the year 1900 on and before the year 9999, for example '2026-12-24T18:00:00Z'`,
  );
}

function isComputed(year: number): boolean {
  return year >= 1900 && year < 9999;
}

/** `new Date` takes the 30th of February to be the 2nd of March. */
function isRealDate(date: string): boolean {
  return new Date(`${date}T00:00:00Z`).toISOString().slice(0, 10) === date;
}
