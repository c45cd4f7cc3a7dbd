import { sql } from '../sql.ts';
import type { ExecutionState } from './execution-columns.ts';
import { isLive, type WaitingEntry, waitingEntry } from './waiting-entry.ts';

/** How far a plan is, and all that its steps wait for, as it was at one instant. */
export interface PlanFacts {
  now: string;
  currentGroupIndex: number;
  groupCount: number;
  isPaused: boolean;
  maxActiveJobs: number | null;
  liveCount: number;
  /** In their order, each by its last attempt; five hundred at the most. */
  steps: PlanStepRow[];
}

export interface PlanStepRow {
  executionId: string;
  name: string;
  workflow: string;
  groupIndex: number;
  state: ExecutionState;
  attempt: number;
  maxAttempts: number;
  continueOnFailure: boolean;
  failureMessage: string | null;
  startedAt: string | null;
  finishedAt: string | null;
  runningMs: number;
  /** It succeeded in an earlier execution of the plan, which this one resumed. */
  isTakenOver: boolean;
  /** Its place in the queue, as long as it waits there. */
  entry: WaitingEntry | null;
}

/** The facts of the execution `e` as JSON, null for everything that is not a plan. */
export const planFacts = sql`case when e.group_count is not null then (
  select json_build_object('now', waybill.now(), 'currentGroupIndex', e.current_group_index, 'groupCount', e.group_count,
    'isPaused', c.is_paused, 'maxActiveJobs', c.max_active_jobs,
    'liveCount', case when c.max_active_jobs is null then 0 else (select count(*) from waybill.execution x where ${isLive}) end,
    'steps', (
      select coalesce(json_agg(json_build_object('executionId', s.id::text, 'name', s.step_name, 'workflow', s.workflow_name, 'groupIndex', s.group_index,
        'state', s.state, 'attempt', s.attempt, 'maxAttempts', s.max_attempts, 'continueOnFailure', s.continue_on_failure,
        'failureMessage', left(s.failure_message, 1000), 'startedAt', s.started_at, 'finishedAt', s.finished_at, 'runningMs', s.running_ms,
        'isTakenOver', s.state in ('completed', 'completed_with_warnings') and s.work_queue_id is null,
        'entry', (select ${waitingEntry} from waybill.work_queue q join waybill.manifest_group eg on eg.id = q.group_id
                   where q.execution_id = s.id and q.status = 'queued' and s.state = 'waiting'))
        order by s.group_index, s.position), '[]')
      from (
        select distinct on (p.group_index, p.position) p.* from waybill.execution p
         where p.parent_id = e.id and p.group_index is not null
         order by p.group_index, p.position, p.attempt desc limit 500
      ) s))
  from waybill.capacity c) end`;
