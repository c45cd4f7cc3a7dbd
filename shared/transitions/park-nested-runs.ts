import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { ExecutionId } from '../model/ids.ts';

/**
 * Lets the nested runs of an execution wait that goes on later in the same attempt: it takes each up again by its name. In the transaction that hands the execution back or puts it to sleep, so
 * that nothing nested ever runs under a lease that is gone.
 */
export async function parkNestedRuns(db: Db, executionIds: ExecutionId[]): Promise<void> {
  if (!executionIds.length) return;
  await db.query(sql`
    with recursive nested (id) as (
      select c.id from waybill.execution c where c.parent_id = any(${executionIds}::bigint[]) and c.group_index is null
      union all
      select c.id from waybill.execution c join nested n on n.id = c.parent_id where c.group_index is null
    ), held as (
      select e.id from waybill.execution e join nested n on n.id = e.id where e.state = 'in_progress' order by e.id for no key update of e
    )
    update waybill.execution e
       set state = 'waiting', lease_token = null, lease_expires_at = null,
           running_ms = e.running_ms + coalesce(extract(epoch from waybill.now() - e.claimed_at) * 1000, 0)::bigint, claimed_at = null
      from held h where e.id = h.id and e.state = 'in_progress'`);
}
