import { WaybillError } from './errors.ts';

/** A pool as the dispatcher and the manager know it: where its bell hangs, and how much it can take. */
export interface PoolSettings {
  queueUrl: string;
  concurrency: number;
  batchSize: number;
}

type Environment = Record<string, string | undefined>;

/** The value of a variable that the stack sets; its absence is a mistake of the deployment, not of the caller. */
export function requiredSetting(name: string, environment: Environment = process.env): string {
  const value = environment[name];
  if (!value)
    throw new WaybillError('setting_missing', `environment variable ${name} is not set: the Waybill construct sets it, redeploy the stack`);
  return value;
}

export interface WholeSetting {
  fallback: number;
  least: number;
  most: number;
}

/** A number that a deployment may set; what was set and cannot be taken is refused, not replaced. */
export function wholeSetting(name: string, { fallback, least, most }: WholeSetting, environment: Environment = process.env): number {
  const text = environment[name];
  const value = text ? Number(text) : fallback;
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  throw new WaybillError('invalid_setting', `${name} is '${text}': it must be a whole number from ${least} to ${most}`);
}

/** Pools by name, from `WAYBILL_POOLS`. */
export function poolSettings(environment: Environment = process.env): Record<string, PoolSettings> {
  return JSON.parse(requiredSetting('WAYBILL_POOLS', environment)) as Record<string, PoolSettings>;
}
