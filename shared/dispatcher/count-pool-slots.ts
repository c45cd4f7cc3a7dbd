import type { Db } from '../db/database.ts';
import { takesSlot } from '../db/queries/takes-slot.ts';
import { sql } from '../db/sql.ts';
import type { PoolSettings } from '../settings.ts';

export interface PoolSlots {
  name: string;
  free: number;
}

/**
 * How many more executions each pool may have live: twice what its executors take at once, so that a bell never waits behind a backlog of bells.
 * No row stands for a pool, so claims of different groups that run side by side may exceed this; it keeps queues short and is no promise.
 */
export function countPoolSlots(db: Db, pools: Record<string, PoolSettings>): Promise<PoolSlots[]> {
  const names = Object.keys(pools);
  const limits = Object.values(pools).map(({ concurrency, batchSize }) => 2 * concurrency * batchSize);
  return db.query<PoolSlots>(sql`
    select p.name, greatest(p.most - (select count(*) from waybill.execution e where e.pool = p.name and ${takesSlot}), 0) as free
      from unnest(${names}::text[], ${limits}::bigint[]) p (name, most)`);
}
