import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { RingableExecution } from '../transitions/ring-doorbells.ts';

const LIMIT = 500;
const FIRST_WAIT_SECONDS = 30;
const LONGEST_WAIT_SECONDS = 300;

/**
 * Admitted executions that nobody has claimed: their bell was never sent (the dispatcher died after its commit) or got
 * lost. Each is rung again after thirty seconds, then after twice as long, up to every five minutes.
 */
export function findQuietBells(db: Db): Promise<RingableExecution[]> {
  return db.query<RingableExecution>(sql`
    select id, pool from waybill.execution
     where state = 'pending' and group_count is null and pool is not null
       and coalesce(sent_at, created_at) < waybill.now()
           - make_interval(secs => least(${FIRST_WAIT_SECONDS} * power(2, greatest(ring_count - 1, 0)), ${LONGEST_WAIT_SECONDS}))
     order by created_at limit ${LIMIT}`);
}
