import type { Db } from '../database.ts';
import { sql } from '../sql.ts';
import { type ExecutionRow, type ExecutionState, executionColumns } from './execution-columns.ts';
import { isOfRun } from './of-run.ts';
import { sentBytes, sentTextBytes } from './page-size.ts';
import { type PlanFacts, planFacts } from './plan-facts.ts';

export interface StepRow {
  name: string;
  kind: 'step' | 'sleep' | 'run';
  execution_id: string;
  state: 'running' | 'completed' | 'failed';
  output: unknown;
  output_bytes: number | null;
  failure_message: string | null;
  item_count: number;
  failed_item_count: number;
  warning_count: number;
  started_at: string;
  finished_at: string | null;
}

export interface RelatedExecutionRow {
  id: string;
  workflow_name: string | null;
  step_name: string | null;
  group_index: number | null;
  state: ExecutionState;
  attempt: number;
  failure_message: string | null;
  started_at: string | null;
  finished_at: string | null;
}

export interface LogRow {
  logged_at: string;
  level: 'debug' | 'info' | 'warn' | 'error';
  message: string;
  fields: Record<string, unknown> | null;
}

export interface ExecutionDetailRow extends ExecutionRow {
  failure_stack: string | null;
  item_count: number;
  failed_item_count: number;
  warning_count: number;
  logs: LogRow[];
  steps: StepRow[];
  children: RelatedExecutionRow[];
  attempts: RelatedExecutionRow[];
  plan: PlanFacts | null;
}

const relatedExecution = sql`json_build_object(
  'id', r.id::text, 'workflow_name', r.workflow_name, 'step_name', r.step_name, 'group_index', r.group_index, 'state', r.state,
  'attempt', r.attempt, 'failure_message', left(r.failure_message, 1000), 'started_at', r.started_at, 'finished_at', r.finished_at)`;

/** What the outputs of steps, and what log lines, may weigh in an answer that also holds an input of 1 MiB, written as it is sent. */
const STEP_BYTES = 512 * 1024;
const LOG_BYTES = 1024 * 1024;

const shownOutput = sql`case when octet_length(x.output::text) <= 4096 then x.output end`;

const isNested = sql`(e.parent_id is not null and e.group_index is null)`;

/**
 * One execution with its steps, children, attempts and last log lines, all of one snapshot. Undefined means that no execution has this id.
 * Outputs of steps above 4 KiB are left out (their size is told), as are those behind the first 512 KiB of them, and log lines before the last MiB: an answer has 6 MB.
 * The steps are those of the whole run, whichever attempt ran them, since each attempt goes on from them; a nested run shows those that it ran itself.
 * Attempts are the executions of the same run at the same place; a nested run shares its parent's run id and has none.
 */
export async function selectExecution(db: Db, id: string): Promise<ExecutionDetailRow | undefined> {
  const [row] = await db.query<ExecutionDetailRow>(sql`
    select ${executionColumns}, e.failure_stack, e.item_count, e.failed_item_count, e.warning_count,
           step.steps, child.children, attempt.attempts, log.logs, ${planFacts} as plan
    from waybill.execution e
    left join waybill.manifest m on m.id = e.manifest_id
    cross join lateral (
      select coalesce(json_agg(json_build_object(
        'name', s.name, 'kind', s.kind, 'execution_id', s.execution_id::text, 'state', s.state,
        'output', case when s.sent_bytes <= ${STEP_BYTES} then s.shown_output end,
        'output_bytes', octet_length(s.output::text), 'failure_message', left(s.failure_message, 1000),
        'item_count', s.item_count, 'failed_item_count', s.failed_item_count, 'warning_count', s.warning_count,
        'started_at', s.started_at, 'finished_at', s.finished_at) order by s.sequence, s.id), '[]') as steps
      from (
        select x.*, ${shownOutput} as shown_output, sum(${sentBytes(shownOutput)}) over (order by x.sequence, x.id) as sent_bytes
        from (
          select x.* from waybill.execution_step x where ${isNested} and x.execution_id = e.id
          union all
          select x.* from waybill.execution_step x where not ${isNested} and x.run_id = e.run_id and position('/' in x.name) = 0
          order by sequence, id limit 500
        ) x
      ) s
    ) step
    cross join lateral (
      select coalesce(json_agg(${relatedExecution} order by r.group_index, r.position, r.id), '[]') as children
      from (select * from waybill.execution where parent_id = e.id order by group_index, position, id limit 500) r
    ) child
    cross join lateral (
      select coalesce(json_agg(${relatedExecution} order by r.attempt, r.id), '[]') as attempts
      from (
        select * from waybill.execution a
        where ${isOfRun(sql`a`, sql`e.run_id`)} and a.parent_id is not distinct from e.parent_id
          and (a.id = e.id or e.parent_id is null or (a.group_index = e.group_index and a.position = e.position))
        order by a.id desc limit 100
      ) r
    ) attempt
    cross join lateral (
      select coalesce(json_agg(json_build_object(
        'logged_at', l.logged_at, 'level', l.level, 'message', left(l.message, 2000), 'fields', l.fields) order by l.id), '[]') as logs
      from (
        select l.*, sum(${sentTextBytes(sql`left(l.message, 2000)`)} + ${sentBytes(sql`l.fields`)}) over (order by l.id desc) as sent_bytes
        from (select * from waybill.execution_log where execution_id = e.id order by id desc limit 200) l
      ) l
      where l.sent_bytes <= ${LOG_BYTES}
    ) log
    where e.id = ${id}::bigint
    limit 1`);
  return row;
}
