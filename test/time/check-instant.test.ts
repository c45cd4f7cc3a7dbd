import { expect, it } from 'vitest';
import { checkInstant } from '../../shared/time/check-instant.ts';

it.each(['1900-01-01T00:00:00Z', '2026-12-24T18:00+01:00', '2024-02-29T23:59:59.999Z', '9998-12-31T23:59:59Z'])('accepts %s', (text) => {
  expect(checkInstant(text)).toEqual(new Date(text));
});

it.each([
  ['a year that has no place in the calendar of the database', '0000-06-01T00:00:00Z'],
  ['the first year', '0001-06-01T00:00:00Z'],
  ['the last instant before 1900', '1899-12-31T23:59:59.999Z'],
  ['1900 by its own clock, but not yet by the one of UTC', '1900-01-01T00:00:00+01:00'],
  ['the year 9999', '9999-01-01T00:00:00Z'],
  ['9999 by the clock of UTC alone', '9998-12-31T23:00:00-01:00'],
])('refuses %s, and says which years there are', (_, text) => {
  expect(() => checkInstant(text)).toThrow(
    `instant '${text}' is invalid: write a date that exists, a time and an offset, from the year 1900 on and before the year 9999`,
  );
});

it.each(['2026-02-30T00:00:00Z', '2026-12-24', '2026-12-24T18:00:00', '2026-12-24 18:00:00Z', 'tomorrow', ''])('refuses %j', (text) => {
  expect(() => checkInstant(text)).toThrow('is invalid: write a date that exists');
});
