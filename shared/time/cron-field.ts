/** What one field of a cron expression may hold. */
export interface CronFieldRule {
  readonly name: string;
  readonly min: number;
  readonly max: number;
  /** Reads as the end of "must be …". */
  readonly allowed: string;
  /** Names in the order of their numbers, from `min` on. */
  readonly names?: readonly string[];
}

export const secondRule: CronFieldRule = { name: 'second', min: 0, max: 59, allowed: '0-59' };
export const minuteRule: CronFieldRule = { name: 'minute', min: 0, max: 59, allowed: '0-59' };
export const hourRule: CronFieldRule = { name: 'hour', min: 0, max: 23, allowed: '0-23' };
export const dayOfMonthRule: CronFieldRule = { name: 'day of month', min: 1, max: 31, allowed: '1-31 or L (the last day)' };
export const monthRule: CronFieldRule = {
  name: 'month',
  min: 1,
  max: 12,
  allowed: '1-12 or JAN-DEC',
  names: ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'],
};
/** Both 0 and 7 are Sunday. */
export const dayOfWeekRule: CronFieldRule = {
  name: 'day of week',
  min: 0,
  max: 7,
  allowed: '0-7 or SUN-SAT, FRI#2 (the second Friday) or FRIL (the last Friday)',
  names: ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'],
};
