import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { ExecutionId } from '../model/ids.ts';

/**
 * Ends what ended executions have left behind below them: nested runs, however deep, and steps that say they are running. Nobody else would, since they share the lease that is
 * gone. In the transaction that ends the executions; a step that was cut off is begun again by the next attempt, if there is one.
 */
export async function endNestedRuns(db: Db, executionIds: ExecutionId[]): Promise<void> {
  if (!executionIds.length) return;
  const nested = await db.query<{ id: ExecutionId }>(sql`
    with recursive nested (id, outer_state) as (
      select c.id, p.state from waybill.execution c join waybill.execution p on p.id = c.parent_id
       where c.parent_id = any(${executionIds}::bigint[]) and c.group_index is null
      union all
      select c.id, n.outer_state from waybill.execution c join nested n on n.id = c.parent_id where c.group_index is null
    ), held as (
      select e.id, n.outer_state from waybill.execution e join nested n on n.id = e.id
       where e.finished_at is null order by e.id for no key update of e
    )
    update waybill.execution e
       set state = case h.outer_state when 'cancelled' then 'cancelled' else 'failed' end::waybill.execution_state, failure_code = 'parent_ended',
           failure_message = format('the run around it ended as %s before it did', h.outer_state), finished_at = waybill.now(), lease_expires_at = null,
           running_ms = e.running_ms + coalesce(extract(epoch from waybill.now() - e.claimed_at) * 1000, 0)::bigint, claimed_at = null
      from held h where e.id = h.id and e.finished_at is null
    returning e.id`);
  const ids = [...executionIds, ...nested.map(({ id }) => id)];
  await db.query(sql`
    update waybill.execution_step
       set state = 'failed', finished_at = waybill.now(), failure_code = 'run_ended', failure_name = 'Error', failure_message = 'the run ended before it did'
     where execution_id = any(${ids}::bigint[]) and state = 'running'`);
}
