import { describe, expect, it } from 'vitest';
import { retentionDays } from '../../shared/housekeeping/retention-days.ts';

describe('the retention of a deployment', () => {
  it.each([
    [undefined, 90],
    ['', 90],
    ['14', 14],
  ])('given as %j is %i days', (text, days) => {
    expect(retentionDays({ WAYBILL_RETENTION_DAYS: text })).toBe(days);
  });

  it.each(['0', '-1', '1.5', '3651', 'a year'])('cannot be %s', (text) => {
    expect(() => retentionDays({ WAYBILL_RETENTION_DAYS: text })).toThrow(
      `WAYBILL_RETENTION_DAYS is '${text}': it must be a whole number from 1 to 3650`,
    );
  });
});
