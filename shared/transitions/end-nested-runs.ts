import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { ExecutionId } from '../model/ids.ts';
import { findNestedRuns, type NestedRun } from './find-nested-runs.ts';

/**
 * Ends what ended executions have left behind below them: nested runs, however deep, and steps that say they are running, those too that a nested run had begun when
 * it ended without waiting for them. Nobody else would, since they share the lease that is gone. In the transaction that ends the executions; a step that was cut off is begun again by the next attempt, if there is one.
 */
export async function endNestedRuns(db: Db, executionIds: ExecutionId[]): Promise<void> {
  if (!executionIds.length) return;
  const nested = await findNestedRuns(db, executionIds);
  await endAll(
    db,
    nested.filter(({ isUnfinished }) => isUnfinished),
  );
  await db.query(sql`
    update waybill.execution_step
       set state = 'failed', finished_at = waybill.now(), failure_code = 'run_ended', failure_name = 'Error', failure_message = 'the run ended before it did'
     where execution_id = any(${[...executionIds, ...nested.map(({ id }) => id)]}::bigint[]) and state = 'running'`);
}

async function endAll(db: Db, nested: NestedRun[]): Promise<void> {
  if (!nested.length) return;
  const ids = nested.map(({ id }) => id);
  await db.query(sql`
    with held as (
      select id from waybill.execution where id = any(${ids}::bigint[]) and finished_at is null order by id for no key update
    )
    update waybill.execution e
       set state = case n.outer_state when 'cancelled' then 'cancelled' else 'failed' end::waybill.execution_state, failure_code = 'parent_ended',
           failure_message = format('the run around it ended as %s before it did', n.outer_state), finished_at = waybill.now(), lease_expires_at = null,
           running_ms = e.running_ms + coalesce(extract(epoch from waybill.now() - e.claimed_at) * 1000, 0)::bigint, claimed_at = null
      from held h join unnest(${ids}::bigint[], ${nested.map(({ outerState }) => outerState)}::text[]) n (id, outer_state) on n.id = h.id
     where e.id = h.id and e.id = any(${ids}::bigint[]) and e.finished_at is null`);
}
