import type { PoolSizes } from '../../shared/operations/why.ts';
import { requiredSetting } from '../../shared/settings.ts';

/** The pools by name, without the addresses of their queues: the API explains what waits for an executor, and rings none. */
export function poolSizes(): PoolSizes {
  return JSON.parse(requiredSetting('WAYBILL_POOL_SIZES')) as PoolSizes;
}
