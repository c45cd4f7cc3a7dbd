import type { ExecutionId } from '../model/ids.ts';
import type { PoolSettings } from '../settings.ts';
import type { Doorbell } from './doorbell.ts';

export interface RingableExecution {
  id: ExecutionId;
  /** As it was resolved for this ring. */
  pool: string;
}

export type PoolQueues = Record<string, Pick<PoolSettings, 'queueUrl'>>;

/** Rings the executors of pending executions, after the commit that made them so. Gives those whose bell was accepted; a pool that the stack does not have cannot be rung. */
export async function sendBells(doorbell: Doorbell, pools: PoolQueues, executions: RingableExecution[]): Promise<Set<ExecutionId>> {
  const bells = executions.flatMap(({ id, pool }) => {
    const queueUrl = queueOf(pools, pool);
    return queueUrl === undefined ? [] : [{ executionId: id, queueUrl }];
  });
  return new Set(bells.length ? await doorbell.ringExecutions(bells) : []);
}

export function queueOf(pools: PoolQueues, pool: string): string | undefined {
  return Object.hasOwn(pools, pool) ? pools[pool]?.queueUrl : undefined;
}
