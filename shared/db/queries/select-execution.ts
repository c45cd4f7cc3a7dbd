import type { Db } from '../database.ts';
import { sql } from '../sql.ts';
import { type ExecutionRow, type ExecutionState, executionColumns } from './execution-columns.ts';
import { isOfRun } from './of-run.ts';

export interface StepRow {
  name: string;
  state: 'running' | 'completed' | 'failed';
  output: unknown;
  output_bytes: number | null;
  failure_message: string | null;
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

export interface ExecutionDetailRow extends ExecutionRow {
  failure_stack: string | null;
  steps: StepRow[];
  children: RelatedExecutionRow[];
  attempts: RelatedExecutionRow[];
}

const relatedExecution = sql`json_build_object(
  'id', r.id::text, 'workflow_name', r.workflow_name, 'step_name', r.step_name, 'group_index', r.group_index, 'state', r.state,
  'attempt', r.attempt, 'failure_message', left(r.failure_message, 1000), 'started_at', r.started_at, 'finished_at', r.finished_at)`;

/**
 * One execution with its steps, children and attempts, all of one snapshot. Undefined means that no execution has this id.
 * Outputs of steps above 4 KiB are left out (their size is told), so that the answer of a run with many steps stays small.
 * Attempts are the executions of the same run at the same place; a nested run shares its parent's run id and has none.
 */
export async function selectExecution(db: Db, id: string): Promise<ExecutionDetailRow | undefined> {
  const [row] = await db.query<ExecutionDetailRow>(sql`
    select ${executionColumns}, e.failure_stack, step.steps, child.children, attempt.attempts
    from waybill.execution e
    left join waybill.manifest m on m.id = e.manifest_id
    cross join lateral (
      select coalesce(json_agg(json_build_object(
        'name', s.name, 'state', s.state, 'output', case when octet_length(s.output::text) <= 4096 then s.output end,
        'output_bytes', octet_length(s.output::text), 'failure_message', left(s.failure_message, 1000),
        'started_at', s.started_at, 'finished_at', s.finished_at) order by s.sequence, s.id), '[]') as steps
      from (select * from waybill.execution_step where execution_id = e.id order by sequence, id limit 500) s
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
    where e.id = ${id}::bigint
    limit 1`);
  return row;
}
