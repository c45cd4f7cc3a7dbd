import type { Db } from '../../shared/db/database.ts';
import { sql } from '../../shared/db/sql.ts';
import { nextInstant } from '../../shared/manager/next-instant.ts';

/** What the tables say of work to come. */
export interface Outlook {
  /** When somebody should look next, undefined if never. Up to the next millisecond, in which the clock counts: Postgres counts in microseconds. */
  nextAt: Date | undefined;
  /** Whether anything in the queue may be admitted now, as far as its own instant goes. */
  hasQueuedWork: boolean;
}

export async function readOutlook(db: Db): Promise<Outlook> {
  const [row] = await db.query<{ nextMs: number | null; hasQueuedWork: boolean }>(sql`
    select (extract(epoch from ${nextInstant}) * 1000)::float8 as "nextMs",
           exists (select from waybill.work_queue where status = 'queued' and available_at <= waybill.now()) as "hasQueuedWork"`);
  const { nextMs = null, hasQueuedWork = false } = row ?? {};
  return { nextAt: nextMs === null ? undefined : new Date(Math.ceil(nextMs)), hasQueuedWork };
}
