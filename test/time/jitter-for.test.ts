import { describe, expect, it } from 'vitest';
import { jitterFor } from '../../shared/time/jitter-for.ts';

const occurrenceAt = new Date('2026-01-01T00:00:00Z');

describe('jitterFor', () => {
  it('is the same for every manager, today and after an upgrade', () => {
    expect(jitterFor('extract-data', occurrenceAt, 3600)).toBe(jitterFor('extract-data', new Date(occurrenceAt), 3600));
    expect([jitterFor('extract-data', occurrenceAt, 3600), jitterFor('load-data', occurrenceAt, 3600)]).toEqual([3357, 178]);
  });

  it('differs from one occurrence to the next', () => {
    const tomorrow = new Date('2026-01-02T00:00:00Z');
    expect(jitterFor('extract-data', tomorrow, 3600)).not.toBe(jitterFor('extract-data', occurrenceAt, 3600));
  });

  it('is nothing when none is wanted', () => {
    expect(jitterFor('extract-data', occurrenceAt, 0)).toBe(0);
  });

  it('reaches every second from none to the most, about equally often', () => {
    const counts = new Array<number>(11).fill(0);
    for (let key = 0; key < 11_000; key++) {
      const jitter = jitterFor(`manifest-${key}`, occurrenceAt, 10);
      expect(jitter in counts).toBe(true);
      counts[jitter]!++;
    }
    expect(Math.min(...counts)).toBeGreaterThan(850);
    expect(Math.max(...counts)).toBeLessThan(1150);
  });
});
