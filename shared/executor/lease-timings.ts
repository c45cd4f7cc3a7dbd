import { wholeSetting } from '../settings.ts';
import { defaultTimings, type ExecutorTimings } from './timings.ts';

const LIMITS = { least: 2, most: 900 };

/**
 * How long a lease lasts, from `WAYBILL_LEASE_SECONDS`, 45 if it is not set, and with it when it is renewed: for the first time after two ninths, then after every third; and how long one renewal may take and
 * how soon it is tried again, or a single one that hangs would outlast a short lease. A shorter lease finds a killed executor sooner and costs more renewals; a longer one outlasts a longer absence of the database.
 */
export function leaseTimings(
  environment: Record<string, string | undefined> = process.env,
): Pick<ExecutorTimings, 'leaseSeconds' | 'firstRenewalMs' | 'renewalMs' | 'renewalRetryMs' | 'renewalAttemptMs'> {
  const { leaseSeconds, firstRenewalMs, renewalMs, renewalRetryMs, renewalAttemptMs } = defaultTimings;
  const seconds = wholeSetting('WAYBILL_LEASE_SECONDS', { fallback: leaseSeconds, ...LIMITS }, environment);
  const scale = seconds / leaseSeconds;
  return {
    leaseSeconds: seconds,
    firstRenewalMs: firstRenewalMs * scale,
    renewalMs: renewalMs * scale,
    renewalRetryMs: renewalRetryMs * scale,
    renewalAttemptMs: renewalAttemptMs * scale,
  };
}
