import type { Db } from '../db/database.ts';
import { metricGroup } from '../db/queries/metric-group.ts';
import { sql } from '../db/sql.ts';
import type { ExecutionId, ManifestId } from '../model/ids.ts';

export type FinalState = 'completed' | 'completed_with_warnings' | 'failed' | 'cancelled';

export interface Failure {
  code: string;
  message: string;
  stack?: string;
  step?: string;
  /** Trying again cannot help: the run is dead-lettered at once. */
  isFinal?: boolean;
}

/** How far a run says it is. */
export interface Progress {
  done?: number;
  total?: number;
  message?: string;
}

export interface Outcome {
  executionId: ExecutionId;
  /** The plan whose step it is, null for none; looked up if nobody says. */
  planId?: ExecutionId | null;
  /** The lease under which it was reached. Null ends a run whose lease has expired, or with `isUnclaimed` one that nobody has started. */
  leaseToken: string | null;
  isUnclaimed?: boolean;
  state: FinalState;
  output?: unknown;
  failure?: Failure;
  /** How long the last invocation ran it, if that is known. */
  runningMs?: number;
  /** It has recorded no step and nested nothing: there is nothing below it to end. */
  hasNoParts?: boolean;
  /** The last it said. */
  progress?: Progress;
  /** What it told of its items, in all of its steps and outside of them. */
  tally?: { itemCount: number; failedItemCount: number; warningCount: number };
}

export interface FinishedExecution {
  executionId: ExecutionId;
  runId: ExecutionId;
  manifestId: ManifestId | null;
  externalId: string | null;
  /** The group's name, as far as it is measured by itself. */
  metricGroup: string;
  workflowName: string | null;
  state: FinalState;
  attempt: number;
  failureCode: string | null;
  failureMessage: string | null;
  runningMs: number;
  isChild: boolean;
  /** The plan whose step it is; null for everything else, what a step has nested included. */
  planId: ExecutionId | null;
  isPlan: boolean;
  /** Whether the run's own attempts are used up; those of a manifest are counted on the manifest. */
  isLastAttempt: boolean;
  isFinal: boolean;
  counts: Record<string, number>;
}

/**
 * Writes final states, each only if its condition still holds: the token matches, the lease has expired, or nobody has claimed it. A run that fails although its
 * cancellation was requested has been cancelled: it is not retried.
 */
export function finishExecutions(db: Db, outcomes: Outcome[]): Promise<FinishedExecution[]> {
  return db.query<FinishedExecution>(sql`
    with outcome as (
      select * from jsonb_to_recordset(${JSON.stringify(outcomes.map(toRow))}::jsonb) as o (
        id bigint, lease_token uuid, is_unclaimed boolean, state waybill.execution_state, output jsonb, running_ms bigint,
        failure_code text, failure_message text, failure_stack text, failure_step text, is_final boolean, progress_done bigint, progress_total bigint,
        progress_message text, item_count bigint, failed_item_count bigint, warning_count bigint)
    ), held as (
      select e.id, ${metricGroup} as metric_group
        from waybill.execution e join outcome o on o.id = e.id join waybill.manifest_group g on g.id = e.group_id
       -- The ids once more: the planner takes a recordset for a hundred rows and would rather scan the table.
       where e.id = any(${outcomes.map(({ executionId }) => executionId)}::bigint[])
         and case when o.is_unclaimed then e.state in ('waiting', 'pending')
                  when o.lease_token is null then e.state = 'in_progress' and e.lease_expires_at < waybill.now()
                  else e.state = 'in_progress' and e.lease_token = o.lease_token end
       order by e.id for no key update of e
    )
    update waybill.execution e
       set state = case when o.state = 'failed' and e.cancel_requested_at is not null then 'cancelled' else o.state end,
           output = o.output, failure_code = o.failure_code, failure_message = o.failure_message, failure_stack = o.failure_stack,
           failure_step = o.failure_step, finished_at = waybill.now(), lease_expires_at = null,
           progress_done = coalesce(o.progress_done, e.progress_done), progress_total = coalesce(o.progress_total, e.progress_total),
           progress_message = coalesce(o.progress_message, e.progress_message), item_count = coalesce(o.item_count, e.item_count),
           failed_item_count = coalesce(o.failed_item_count, e.failed_item_count), warning_count = coalesce(o.warning_count, e.warning_count),
           -- What waits or was handed back is not running; a run that was claimed before this column existed has only its start.
           running_ms = e.running_ms + coalesce(o.running_ms, case when e.state = 'in_progress'
             then extract(epoch from waybill.now() - coalesce(e.claimed_at, e.started_at)) * 1000 end, 0)::bigint
      from outcome o join held on held.id = o.id
     where e.id = o.id and e.finished_at is null
    returning e.id as "executionId", e.run_id as "runId", e.manifest_id as "manifestId", e.workflow_name as "workflowName", e.state,
              e.attempt, e.failure_code as "failureCode", e.failure_message as "failureMessage", e.running_ms as "runningMs",
              e.parent_id is not null as "isChild", case when e.group_index is not null then e.parent_id end as "planId",
              e.group_count is not null as "isPlan", e.attempt >= e.max_attempts as "isLastAttempt", e.consumed_counts as counts,
              (select m.external_id from waybill.manifest m where m.id = e.manifest_id) as "externalId",
              held.metric_group as "metricGroup",
              coalesce(o.is_final, false) as "isFinal"`);
}

function toRow({ executionId, leaseToken, isUnclaimed = false, state, output, failure, runningMs, progress, tally }: Outcome) {
  return {
    id: executionId,
    lease_token: leaseToken,
    is_unclaimed: isUnclaimed,
    state,
    output,
    running_ms: runningMs === undefined ? undefined : Math.round(runningMs),
    failure_code: failure?.code,
    failure_message: failure?.message,
    failure_stack: failure?.stack,
    failure_step: failure?.step,
    is_final: failure?.isFinal,
    progress_done: progress?.done,
    progress_total: progress?.total,
    progress_message: progress?.message,
    item_count: tally?.itemCount,
    failed_item_count: tally?.failedItemCount,
    warning_count: tally?.warningCount,
  };
}
