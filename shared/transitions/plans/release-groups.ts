import type { Db } from '../../db/database.ts';
import { sql } from '../../db/sql.ts';
import type { ExecutionId } from '../../model/ids.ts';

export interface GroupRelease {
  id: ExecutionId;
  groupIndex: number;
}

/**
 * Puts the waiting steps of a group into the queue, where they obey the capacity of their groups, and notes how far the plan is. The plan is locked, so a group is released once; a step that has an
 * entry already gets no other, whoever calls it again.
 */
export async function releaseGroups(db: Db, releases: GroupRelease[]): Promise<void> {
  if (!releases.length) return;
  await db.query(sql`
    with released as (
      update waybill.execution plan set current_group_index = r.group_index
        from unnest(${releases.map(({ id }) => id)}::bigint[], ${releases.map(({ groupIndex }) => groupIndex)}::integer[]) r (id, group_index)
       where plan.id = r.id and plan.current_group_index <= r.group_index and plan.finished_at is null
      returning plan.id, plan.current_group_index
    )
    insert into waybill.work_queue (workflow_name, pool, manifest_id, group_id, execution_id, run_id, attempt, priority, lane, origin, occurrence_at,
                                    max_attempts, timeout_seconds, backoff_initial_seconds, backoff_factor, backoff_max_seconds, backoff_jitter,
                                    initiator_type, initiator_id, initiator_name)
    select step.workflow_name, step.pool, step.manifest_id, step.group_id, step.id, step.run_id, step.attempt, step.priority, 'fresh', 'plan', step.occurrence_at,
           step.max_attempts, step.timeout_seconds, step.backoff_initial_seconds, step.backoff_factor, step.backoff_max_seconds, step.backoff_jitter,
           step.initiator_type, step.initiator_id, step.initiator_name
      from released plan join waybill.execution step on step.parent_id = plan.id and step.group_index = plan.current_group_index
     -- Written as a case: otherwise the planner would read everything that waits, which looks like nothing to its statistics.
     where case step.state when 'waiting' then true else false end
       and not exists (select from waybill.work_queue w where w.execution_id = step.id and w.status = 'queued' offset 0)
     order by step.id
        on conflict do nothing`);
}
