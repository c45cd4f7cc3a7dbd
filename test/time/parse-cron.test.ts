import { describe, expect, it } from 'vitest';
import { InvalidScheduleError } from '../../shared/time/invalid-schedule-error.ts';
import { nextOccurrence } from '../../shared/time/next-occurrence.ts';
import { parseCron } from '../../shared/time/parse-cron.ts';

const fieldCount = 'it must have 5 fields (minute, hour, day of month, month, day of week) or 6 with seconds first';

describe('parseCron', () => {
  it.each([
    ['61 * * * *', "minute must be 0-59, got '61'"],
    ['60 0 0 * * *', "second must be 0-59, got '60'"],
    ['0 24 * * *', "hour must be 0-23, got '24'"],
    ['0 0 0 * *', "day of month must be 1-31 or L (the last day), got '0'"],
    ['0 0 * 13 *', "month must be 1-12 or JAN-DEC, got '13'"],
    ['0 0 * foo *', "month must be 1-12 or JAN-DEC, got 'foo'"],
    ['0 0 * * 8', "day of week must be 0-7 or SUN-SAT, FRI#2 (the second Friday) or FRIL (the last Friday), got '8'"],
    ['0 MON * * *', "hour must be 0-23, got 'MON'"],
    ['1e1 * * * *', "minute must be 0-59, got '1e1'"],
    ['007 * * * *', "minute must be 0-59, got '007'"],
    ['', `${fieldCount}, got 0`],
    ['   ', `${fieldCount}, got 0`],
    ['0 0 * *', `${fieldCount}, got 4`],
    ['0 0 0 1 1 * 2030', `${fieldCount}, got 7; there is no field for the year`],
    ['@daily', "macros are not supported; write the fields, for example '0 0 * * *'"],
    ['@Hourly', "macros are not supported; write the fields, for example '0 * * * *'"],
    ['@reboot', "macros are not supported; write the fields, for example '0 0 * * *'"],
    ['H * * * *', "minute must be 0-59, got 'H'; instead of H, write a value and spread the load with jitter"],
    ['H/15 * * * *', "minute must be 0-59, alone or as a range (a-b), a list (a,b) or a step (*/n), got 'H/15'; instead of H, write"],
    ['0 0 15W * *', "got '15W'; W (the nearest weekday) is not supported"],
    ['0 0 L-3 * *', "got 'L-3'; only L itself is supported, without an offset"],
    ['? * * * *', "got '?'; write '*', or leave ? alone in a day field"],
    ['50-10 * * * *', "minute ranges must ascend, got '50-10'; to go past the end write '50-59,0-10'"],
    ['0 0 * * FRI-MON', "day of week ranges must ascend, got 'FRI-MON'; to go past the end write '5-7,0-1'"],
    ['*/0 * * * *', "minute step must be 1-59, got '*/0'"],
    ['*/90 * * * *', "minute step must be 1-59, got '*/90'"],
    ['0 */24 * * *', "hour step must be 1-23, got '*/24'"],
    ['*/1.5 * * * *', "minute step must be 1-59, got '*/1.5'"],
    ['1- * * * *', "got '1-'"],
    ['-1 * * * *', "got '-1'"],
    ['1-2-3 * * * *', "got '1-2-3'"],
    ['1,,2 * * * *', "got ''"],
    ['** * * * *', "got '**'"],
    ['*/5/5 * * * *', "got '*/5/5'"],
    ['1;2 * * * *', "got '1;2'"],
    ['0 0 * * L', "got 'L'"],
    ['0 0 * * 1#6', "day of week after # must be 1-5 (the first to the fifth in the month), got '1#6'"],
    ['0 0 * * 1#2#3', "got '1#2#3'"],
    ['0 0 1#2 * *', "got '1#2'"],
    ['0 0 31 2 *', 'it never occurs, because no month it names has such a day; change the day or the month'],
    ['0 0 31 2,4,6,9,11 *', 'it never occurs'],
    ['0 0 30-31 FEB ?', 'it never occurs'],
    [`${'1,'.repeat(600)}1 * * * *`, 'it must have at most 1000 characters, got 1209'],
  ])("refuses '%s'", (expression, reason) => {
    const refusal = expectRefusal(expression);
    expect(refusal.code).toBe('invalid_schedule');
    expect(refusal.message).toContain(reason);
    expect(refusal.message).toMatch(/^cron expression '.{0,101}' is invalid: /);
  });

  it('quotes the expression as it was written', () => {
    expect(expectRefusal('61 * * * *').message).toBe("cron expression '61 * * * *' is invalid: minute must be 0-59, got '61'");
  });

  it.each([
    ['0 0 29 2 *', '2028-02-29T00:00:00Z'],
    ['0 0 L * *', '2026-01-31T00:00:00Z'],
    ['0 0 l 2 *', '2026-02-28T00:00:00Z'],
    ['0 0 L,15 * *', '2026-01-15T00:00:00Z'],
    ['0 0 ? * ?', '2026-01-02T00:00:00Z'],
    ['0 0 ? * 7', '2026-01-04T00:00:00Z'],
    ['0 0 * * sat-sun', '2026-01-03T00:00:00Z'],
    ['0 0 * * FRIL', '2026-01-30T00:00:00Z'],
    ['0 0 * * 5L,WED#3', '2026-01-21T00:00:00Z'],
    ['0 0 * 2 MON#5', '2044-02-29T00:00:00Z'],
    ['0 0 13 * FRI', '2026-01-02T00:00:00Z'],
    ['0 0 30 2 MON', '2026-02-02T00:00:00Z'],
    ['0 0 1 jan-mar/2 *', '2026-03-01T00:00:00Z'],
    ['50/5 * * * *', '2026-01-01T00:50:00Z'],
    ['  5   4 *  *\t* ', '2026-01-01T04:05:00Z'],
    ['30 5 4 * * *', '2026-01-01T04:05:30Z'],
    ['59 59 23 31 12 *', '2026-12-31T23:59:59Z'],
  ])("reads '%s'", (expression, first) => {
    const next = nextOccurrence({ type: 'cron', expression, timeZone: 'UTC' }, new Date('2026-01-01T00:00:00Z'));
    expect(next).toEqual(new Date(first));
  });

  it.each([
    ['0 * * * *', true],
    ['0 */2 * * *', true],
    ['0 0-23 * * *', true],
    ['0 0/1 * * *', true],
    ['0 2 * * *', false],
    ['0 1-3 * * *', false],
    ['*/5 8-18/2 * * *', false],
  ])("tells whether '%s' goes round the clock", (expression, isRoundTheClock) => {
    expect(parseCron(expression).isRoundTheClock).toBe(isRoundTheClock);
  });
});

function expectRefusal(expression: string): InvalidScheduleError {
  try {
    parseCron(expression);
  } catch (error) {
    expect(error).toBeInstanceOf(InvalidScheduleError);
    return error as InvalidScheduleError;
  }
  return expect.fail(`'${expression}' was accepted`);
}
