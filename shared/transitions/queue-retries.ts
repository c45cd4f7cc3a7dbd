import type { Db } from '../db/database.ts';
import { statedPool } from '../db/queries/resolved-pool.ts';
import { sql } from '../db/sql.ts';
import type { ExecutionId } from '../model/ids.ts';
import { retryAt } from './retry-at.ts';

/**
 * Queues the next attempt of failed executions: same run, occurrence, input and counts. It waits in the group that its manifest has by now, and for the pool that this one states.
 */
export async function queueRetries(db: Db, executionIds: ExecutionId[]): Promise<void> {
  if (!executionIds.length) return;
  await db.query(sql`
    insert into waybill.work_queue (workflow_name, input, pool, manifest_id, group_id, run_id, attempt, priority, lane, origin, occurrence_at,
                                    available_at, max_attempts, timeout_seconds, backoff_initial_seconds, backoff_factor,
                                    backoff_max_seconds, backoff_jitter, consumed_counts, initiator_type, initiator_id, initiator_name)
    select e.workflow_name, e.input, ${statedPool}, e.manifest_id, coalesce(m.group_id, e.group_id), e.run_id, e.attempt + 1, e.priority, 'retry', 'retry', e.occurrence_at,
           ${retryAt}, e.max_attempts, e.timeout_seconds, e.backoff_initial_seconds, e.backoff_factor,
           e.backoff_max_seconds, e.backoff_jitter, e.consumed_counts, e.initiator_type, e.initiator_id, e.initiator_name
      from waybill.execution e left join waybill.manifest m on m.id = e.manifest_id
     where e.id = any(${executionIds}::bigint[])
     order by e.id
        on conflict do nothing`);
}
