import { expect, it } from 'vitest';
import { checkIntervalSeconds } from '../../shared/time/check-interval-seconds.ts';
import { InvalidScheduleError } from '../../shared/time/invalid-schedule-error.ts';

it.each([1, 10, 31_536_000])('accepts an interval of %s seconds', (seconds) => {
  expect(checkIntervalSeconds(seconds)).toBe(seconds);
});

it.each<[unknown, string]>([
  [0, '0'],
  [-5, '-5'],
  [1.5, '1.5'],
  [31_536_001, '31536001'],
  [Number.NaN, 'NaN'],
  [Number.POSITIVE_INFINITY, 'Infinity'],
  ['60', "'60'"],
  [null, 'null'],
  [undefined, 'undefined'],
])('refuses an interval of %s', (value, received) => {
  const check = () => checkIntervalSeconds(value);
  expect(check).toThrow(InvalidScheduleError);
  expect(check).toThrow(`interval is invalid: it must be a whole number of seconds from 1 to 31536000 (one year), got ${received}`);
});
