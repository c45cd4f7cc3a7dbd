import { takesSlot } from '../db/queries/takes-slot.ts';
import { sql } from '../db/sql.ts';
import type { ClaimContext } from './cycle.ts';

interface Capacity {
  maxActiveJobs: number | null;
  isPaused: boolean;
}

/**
 * Finds how many entries this claim may admit. Only a global limit needs the lock; without one, claims of different groups run side by side. What was true
 * before the lock is read again after it: while this claim waited, others admitted, and somebody may have paused everything or lifted the limit.
 */
export async function lockCapacity<Round extends object>(
  round: Round,
  { db, limit }: ClaimContext,
): Promise<Round & { freeSlots: number }> {
  const [seen] = await db.query<Capacity>(sql`
    select max_active_jobs as "maxActiveJobs", is_paused as "isPaused" from waybill.capacity`);
  if (!seen || seen.isPaused) return { ...round, freeSlots: 0 };
  if (seen.maxActiveJobs === null) return { ...round, freeSlots: limit };
  await db.query(sql`select from waybill.capacity for no key update`);
  const [now] = await db.query<Capacity & { liveCount: number }>(sql`
    select max_active_jobs as "maxActiveJobs", is_paused as "isPaused",
           (select count(*) from waybill.execution e where ${takesSlot}) as "liveCount"
      from waybill.capacity`);
  if (!now || now.isPaused) return { ...round, freeSlots: 0 };
  const freeSlots = now.maxActiveJobs === null ? limit : now.maxActiveJobs - now.liveCount;
  return { ...round, freeSlots: Math.min(Math.max(freeSlots, 0), limit) };
}
