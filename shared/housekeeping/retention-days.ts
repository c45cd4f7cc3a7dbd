import { type WholeSetting, wholeSetting } from '../settings.ts';

export const RETENTION_DAYS: WholeSetting = { fallback: 90, least: 1, most: 3_650 };

/** For how many days history is kept, from `WAYBILL_RETENTION_DAYS`, 90 if it is not set. */
export function retentionDays(environment: Record<string, string | undefined> = process.env): number {
  return wholeSetting('WAYBILL_RETENTION_DAYS', RETENTION_DAYS, environment);
}
