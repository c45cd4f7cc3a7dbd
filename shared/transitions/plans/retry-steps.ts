import type { Db } from '../../db/database.ts';
import { entryPool } from '../../db/queries/resolved-pool.ts';
import { sql } from '../../db/sql.ts';
import type { ExecutionId } from '../../model/ids.ts';
import { retryAt } from '../retry-at.ts';

/**
 * Gives failed steps another attempt: a new execution of the same run at the same place of the plan, waiting, and its entry, for the pool that
 * the step states. The failed one stays as it is. In the transaction that ended it, under the plan's lock, so that nobody sees the group without a step that is not over.
 */
export async function retrySteps(db: Db, stepIds: ExecutionId[]): Promise<void> {
  if (!stepIds.length) return;
  await db.query(sql`
    with failed as materialized (
      select e.*, ${entryPool} as stated_pool, nextval('waybill.execution_id_seq') as new_id from waybill.execution e where e.id = any(${stepIds}::bigint[]) order by e.id
    ), retried as (
      insert into waybill.execution (id, parent_id, root_id, run_id, manifest_id, workflow_name, pool, group_id, state, attempt, occurrence_at, origin,
                                     initiator_type, initiator_id, initiator_name, input, max_attempts, timeout_seconds, backoff_initial_seconds,
                                     backoff_factor, backoff_max_seconds, backoff_jitter, priority, group_index, position, step_name, continue_on_failure)
      overriding system value
      select new_id, parent_id, root_id, run_id, manifest_id, workflow_name, stated_pool, group_id, 'waiting', attempt + 1, occurrence_at, 'retry',
             initiator_type, initiator_id, initiator_name, input, max_attempts, timeout_seconds, backoff_initial_seconds,
             backoff_factor, backoff_max_seconds, backoff_jitter, priority, group_index, position, step_name, continue_on_failure
        from failed
    )
    insert into waybill.work_queue (workflow_name, pool, manifest_id, group_id, execution_id, run_id, attempt, priority, lane, origin, occurrence_at, available_at,
                                    max_attempts, timeout_seconds, backoff_initial_seconds, backoff_factor, backoff_max_seconds, backoff_jitter,
                                    initiator_type, initiator_id, initiator_name)
    select workflow_name, stated_pool, manifest_id, group_id, new_id, run_id, attempt + 1, priority, 'retry', 'retry', occurrence_at,
           ${retryAt}, max_attempts, timeout_seconds, backoff_initial_seconds, backoff_factor, backoff_max_seconds, backoff_jitter,
           initiator_type, initiator_id, initiator_name
      from failed e`);
}
