import { describe, expect, it } from 'vitest';
import { checkTimeZone } from '../../shared/time/check-time-zone.ts';
import { InvalidScheduleError } from '../../shared/time/invalid-schedule-error.ts';
import { nextOccurrence } from '../../shared/time/next-occurrence.ts';

describe('checkTimeZone', () => {
  it('accepts every zone of the runtime under its own name', () => {
    for (const zone of Intl.supportedValuesOf('timeZone')) expect(checkTimeZone(zone)).toBe(zone);
  });

  it.each(['UTC', 'Etc/UTC', 'Asia/Kolkata', 'Europe/Kyiv', 'US/Eastern'])('keeps the alias %s as it was written', (zone) => {
    expect(checkTimeZone(zone)).toBe(zone);
  });

  it('means UTC when no zone is given', () => {
    expect(checkTimeZone()).toBe('UTC');
  });

  it('corrects capitals', () => {
    expect(checkTimeZone('europe/london')).toBe('Europe/London');
  });

  it.each([
    ['Europe/Londn', "did you mean 'Europe/London'?"],
    ['Berlin', "did you mean 'Europe/Berlin'?"],
    ['America/Los Angeles', "did you mean 'America/Los_Angeles'?"],
    ['US/New_York', "did you mean 'America/New_York'?"],
    ['Middle Earth', "use 'UTC' or a name such as 'Europe/London'"],
    ['+01:00', "use 'UTC' or a name such as 'Europe/London'"],
    ['', "use 'UTC' or a name such as 'Europe/London'"],
    ['x'.repeat(100_000), "use 'UTC' or a name such as 'Europe/London'"],
  ])("refuses '%.20s' and says what to write", (zone, hint) => {
    const check = () => checkTimeZone(zone);
    expect(check).toThrow(InvalidScheduleError);
    expect(check).toThrow(`time zone '${zone.slice(0, 100)}' is invalid: it must be an IANA time zone name; ${hint}`);
  });

  it('an unknown zone is refused when an occurrence is sought, too', () => {
    const schedule = { type: 'cron', expression: '0 0 * * *', timeZone: 'Mars/Base' } as const;
    expect(() => nextOccurrence(schedule, new Date('2026-01-01T00:00:00Z'))).toThrow(InvalidScheduleError);
  });
});
