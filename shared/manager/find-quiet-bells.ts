import type { Db } from '../db/database.ts';
import { resolvedPool } from '../db/queries/resolved-pool.ts';
import { sql } from '../db/sql.ts';
import type { RingableExecution } from '../queue/send-bells.ts';

const LIMIT = 500;
const FIRST_WAIT_SECONDS = 30;
const LONGEST_WAIT_SECONDS = 300;

/**
 * Admitted executions that nobody has claimed: their bell was never sent (the dispatcher died after its commit) or got
 * lost. Each is rung again after thirty seconds, then after twice as long, up to every five minutes, in the pool that it belongs to by now. What was made to go on (a sleeper, a plan's step) is as
 * old as its admission: the dispatcher that admitted it is about to ring it. The entry is asked only about what was not rung since then, and for the pool only of what is to be rung.
 */
export function findQuietBells(db: Db): Promise<RingableExecution[]> {
  return db.query<RingableExecution>(sql`
    with quiet as (
      select e.id, e.work_queue_id, e.created_at from waybill.execution e
       where e.state = 'pending' and e.group_count is null
         and coalesce(e.sent_at, (select w.dispatched_at from waybill.work_queue w where w.id = e.work_queue_id), e.created_at) < waybill.now()
             - make_interval(secs => least(${FIRST_WAIT_SECONDS} * power(2, greatest(e.ring_count - 1, 0)), ${LONGEST_WAIT_SECONDS}))
       order by e.created_at limit ${LIMIT}
    )
    select quiet.id, ${resolvedPool(sql`w`)} as pool
      from quiet left join waybill.work_queue w on w.id = quiet.work_queue_id
     order by quiet.created_at`);
}
