import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { ExecutionId } from '../model/ids.ts';
import { findNestedRuns } from './find-nested-runs.ts';

/**
 * Lets the nested runs of an execution wait that goes on later in the same attempt: it takes each up again by its name. In the transaction that hands the execution back or puts it to sleep, so
 * that nothing nested ever runs under a lease that is gone.
 */
export async function parkNestedRuns(db: Db, executionIds: ExecutionId[]): Promise<void> {
  if (!executionIds.length) return;
  const nested = (await findNestedRuns(db, executionIds)).filter(({ isUnfinished }) => isUnfinished).map(({ id }) => id);
  if (!nested.length) return;
  await db.query(sql`
    with held as (
      select id from waybill.execution where id = any(${nested}::bigint[]) and state = 'in_progress' order by id for no key update
    )
    update waybill.execution e
       set state = 'waiting', lease_token = null, lease_expires_at = null,
           running_ms = e.running_ms + coalesce(extract(epoch from waybill.now() - e.claimed_at) * 1000, 0)::bigint, claimed_at = null
      from held h where e.id = h.id and e.id = any(${nested}::bigint[]) and e.state = 'in_progress'`);
}
