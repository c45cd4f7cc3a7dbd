import { RETENTION_DAYS } from '../../shared/housekeeping/retention-days.ts';
import { BundleError } from '../bundle/bundle-error.ts';

/** The retention as housekeeping reads it; what it would refuse every hour is refused before anything is deployed. */
export function checkRetention(days: number = RETENTION_DAYS.fallback): string {
  const { least, most } = RETENTION_DAYS;
  if (Number.isInteger(days) && days >= least && days <= most) return String(days);
  throw new BundleError('invalid_stack', `retentionDays is ${days}: it must be a whole number from ${least} to ${most}`);
}
