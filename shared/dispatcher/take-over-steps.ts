import type { Db } from '../db/database.ts';
import { isOfRun } from '../db/queries/of-run.ts';
import { sql } from '../db/sql.ts';
import type { ExecutionId } from '../model/ids.ts';

/**
 * Lets new plans go on where the execution before them, of the same run, ended. A step that succeeded there is taken over as it was: final, without an entry, not run again. It is found by
 * its name and workflow, wherever it stands now. One that was begun and did not succeed is the next attempt of its own run, if its input is still the same, so it goes on from what
 * that has recorded, with as many attempts as the first time; any other begins anew.
 */
export async function takeOverSteps(db: Db, planIds: ExecutionId[]): Promise<void> {
  if (!planIds.length) return;
  await db.query(sql`
    with before as materialized (
      select distinct on (plan.id, b.step_name) plan.id as plan_id, b.*,
             b.state in ('completed', 'completed_with_warnings') as is_over
        from waybill.execution plan
        join waybill.execution earlier on ${isOfRun(sql`earlier`, sql`plan.run_id`)}
         and earlier.attempt = plan.attempt - 1 and earlier.parent_id is null and earlier.group_count is not null
        join waybill.execution b on b.parent_id = earlier.id and b.group_index is not null
       where plan.id = any(${planIds}::bigint[])
       order by plan.id, b.step_name, b.attempt desc
    )
    update waybill.execution step
       set run_id = b.run_id, attempt = case when b.is_over then b.attempt else b.attempt + 1 end,
           max_attempts = case when b.is_over then b.max_attempts else b.attempt + step.max_attempts end,
           state = case when b.is_over then b.state else step.state end, input = b.input, output = case when b.is_over then b.output end,
           started_at = case when b.is_over then b.started_at end, finished_at = case when b.is_over then b.finished_at end,
           running_ms = case when b.is_over then b.running_ms else 0 end, item_count = case when b.is_over then b.item_count else 0 end,
           failed_item_count = case when b.is_over then b.failed_item_count else 0 end, warning_count = case when b.is_over then b.warning_count else 0 end
      from before b
     -- Written as a case: otherwise the planner would read everything that waits, which looks like nothing to its statistics.
     where step.parent_id = b.plan_id and case step.state when 'waiting' then true else false end and step.step_name = b.step_name and step.workflow_name = b.workflow_name
       and (b.is_over or (b.started_at is not null and b.input = step.input))`);
}
