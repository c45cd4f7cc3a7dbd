import type { Db } from '../../db/database.ts';
import { metricGroup } from '../../db/queries/metric-group.ts';
import { sql } from '../../db/sql.ts';
import type { ExecutionId } from '../../model/ids.ts';
import type { PlanVerdict } from '../../model/plan.ts';
import type { FinishedExecution } from '../finish-executions.ts';

export type PlanEnd = { id: ExecutionId } & Extract<PlanVerdict, { verdict: 'end' }>;

/**
 * Writes the final states of locked plans. What was not released is skipped, with the reason; nobody else touches such a step without the plan's lock. A plan that is missing from the answer
 * has ended before.
 */
export async function finishPlans(db: Db, ends: PlanEnd[]): Promise<FinishedExecution[]> {
  if (!ends.length) return [];
  const finished = await db.query<FinishedExecution>(sql`
    update waybill.execution e
       set state = o.state, finished_at = waybill.now(), deadline_at = null,
           failure_code = case when o.message is null then e.failure_code else 'step_failed' end,
           failure_message = coalesce(o.message, e.failure_message), failure_step = o.step,
           running_ms = greatest(extract(epoch from waybill.now() - e.started_at) * 1000, 0)::bigint
      from jsonb_to_recordset(${JSON.stringify(ends.map(toRow))}::jsonb) as o (id bigint, state waybill.execution_state, step text, message text),
           waybill.manifest_group g
     where e.id = o.id and g.id = e.group_id and e.group_count is not null and e.finished_at is null
    returning e.id as "executionId", e.run_id as "runId", e.manifest_id as "manifestId", e.workflow_name as "workflowName", e.state,
              e.attempt, e.failure_code as "failureCode", e.failure_message as "failureMessage", e.running_ms as "runningMs",
              false as "isChild", null as "planId", true as "isPlan", false as "isLastAttempt", false as "isFinal", e.consumed_counts as counts,
              (select m.external_id from waybill.manifest m where m.id = e.manifest_id) as "externalId", ${metricGroup} as "metricGroup"`);
  await db.query(sql`
    update waybill.execution step
       set state = 'skipped', finished_at = waybill.now(), failure_code = 'plan_ended', failure_message = format('the plan ended as %s before its turn', plan.state)
      from waybill.execution plan
     where plan.id = any(${finished.map(({ executionId }) => executionId)}::bigint[])
       and step.parent_id = plan.id and step.group_index is not null
       -- Written as a case: otherwise the planner would read everything that waits, which looks like nothing to its statistics.
       and case step.state when 'waiting' then true else false end`);
  return finished;
}

function toRow({ id, ...end }: PlanEnd) {
  return end.state === 'failed' ? { id, state: end.state, ...end.failure } : { id, state: end.state };
}
