import { describe, expect, it } from 'vitest';
import { leaseTimings } from '../../shared/executor/lease-timings.ts';
import { defaultTimings } from '../../shared/executor/timings.ts';

describe('the lease of a deployment', () => {
  it('is 45 seconds, renewed after 10 and then every 15, if nothing is said', () => {
    expect(leaseTimings({})).toMatchObject({ leaseSeconds: 45, firstRenewalMs: 10_000, renewalMs: 15_000 });
    expect(defaultTimings).toMatchObject(leaseTimings({}));
  });

  it('is renewed as much sooner as it is shorter', () => {
    expect(leaseTimings({ WAYBILL_LEASE_SECONDS: '9' })).toMatchObject({ leaseSeconds: 9, firstRenewalMs: 2_000, renewalMs: 3_000 });
  });

  it.each(['2', '9', '45', '900'])('of %s seconds outlasts a renewal that hangs and the one after it', (text) => {
    const { leaseSeconds, renewalMs, renewalRetryMs, renewalAttemptMs } = leaseTimings({ WAYBILL_LEASE_SECONDS: text });
    expect(renewalMs + 2 * renewalAttemptMs + renewalRetryMs).toBeLessThan(leaseSeconds * 1000);
  });

  it.each(['0', '1', '901', '4.5', 'soon'])('cannot be %s', (text) => {
    expect(() => leaseTimings({ WAYBILL_LEASE_SECONDS: text })).toThrow(
      `WAYBILL_LEASE_SECONDS is '${text}': it must be a whole number from 2 to 900`,
    );
  });
});
