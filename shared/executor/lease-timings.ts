import { WaybillError } from '../errors.ts';
import { defaultTimings, type ExecutorTimings } from './timings.ts';

const LEAST_SECONDS = 2;
const MOST_SECONDS = 900;

/**
 * How long a lease lasts, from `WAYBILL_LEASE_SECONDS`, 45 if it is not set, and with it when it is renewed: for the first time after two ninths, then after every third. A shorter lease
 * finds a killed executor sooner and costs more renewals; a longer one outlasts a longer absence of the database.
 */
export function leaseTimings(
  environment: Record<string, string | undefined> = process.env,
): Pick<ExecutorTimings, 'leaseSeconds' | 'firstRenewalMs' | 'renewalMs'> {
  const { leaseSeconds, firstRenewalMs, renewalMs } = defaultTimings;
  const text = environment.WAYBILL_LEASE_SECONDS;
  const seconds = text ? Number(text) : leaseSeconds;
  if (!Number.isInteger(seconds) || seconds < LEAST_SECONDS || seconds > MOST_SECONDS)
    throw new WaybillError(
      'invalid_setting',
      `WAYBILL_LEASE_SECONDS is '${text}': it must be a whole number from ${LEAST_SECONDS} to ${MOST_SECONDS}`,
    );
  const scale = seconds / leaseSeconds;
  return { leaseSeconds: seconds, firstRenewalMs: firstRenewalMs * scale, renewalMs: renewalMs * scale };
}
