import type { ExecutionRow, ExecutionState } from '../db/queries/execution-columns.ts';
import type { ExecutionDetailRow, LogRow, RelatedExecutionRow, StepRow } from '../db/queries/select-execution.ts';
import { describePlan, type PlanDescription } from './describe-plan.ts';
import { toInstant } from './instant.ts';

/** An execution as a list shows it. */
export interface ExecutionDescription {
  id: string;
  runId: string;
  /** The external id of its manifest; null for an ad-hoc run. */
  manifest: string | null;
  workflow: string | null;
  state: ExecutionState;
  attempt: number;
  origin: string;
  occurrenceAt: string | null;
  initiator: { type: string; id: string | null; name: string | null };
  input: unknown;
  output: unknown;
  failure: { code: string; message: string | null; step: string | null; stack?: string | null } | null;
  progress: { done: number | null; total: number | null; message: string | null } | null;
  createdAt: string;
  sentAt: string | null;
  startedAt: string | null;
  finishedAt: string | null;
  parentId: string | null;
  rootId: string;
}

/** An execution by itself, with all that belongs to it. */
export interface ExecutionDetail extends ExecutionDescription {
  /** What it told of its items, in its steps and outside of them. */
  items: { count: number; failedCount: number; warningCount: number };
  steps: StepDescription[];
  children: RelatedExecution[];
  /** Every attempt of the same run, this one included, the first one first. */
  attempts: RelatedExecution[];
  /** How far it is, if it is a plan. */
  plan: PlanDescription | null;
  /** The last two hundred lines that it logged; the log stream has all. */
  logs: LogDescription[];
}

export interface LogDescription {
  loggedAt: string;
  level: LogRow['level'];
  message: string;
  fields: Record<string, unknown> | null;
}

export interface StepDescription {
  name: string;
  kind: StepRow['kind'];
  /** The execution that ran it: a later attempt takes over what an earlier one completed. */
  executionId: string;
  state: StepRow['state'];
  /** Null when there is none, when `outputBytes` exceeds 4096, or when those of earlier steps fill the answer. */
  output: unknown;
  outputBytes: number | null;
  failureMessage: string | null;
  itemCount: number;
  failedItemCount: number;
  warningCount: number;
  startedAt: string;
  finishedAt: string | null;
}

export interface RelatedExecution {
  id: string;
  workflow: string | null;
  stepName: string | null;
  groupIndex: number | null;
  state: ExecutionState;
  attempt: number;
  failureMessage: string | null;
  startedAt: string | null;
  finishedAt: string | null;
}

export function describeExecution(row: ExecutionRow): ExecutionDescription {
  return {
    id: row.id,
    runId: row.run_id,
    manifest: row.manifest,
    workflow: row.workflow_name,
    state: row.state,
    attempt: row.attempt,
    origin: row.origin,
    occurrenceAt: toInstant(row.occurrence_at),
    initiator: { type: row.initiator_type, id: row.initiator_id, name: row.initiator_name },
    input: row.input,
    output: row.output,
    failure: row.failure_code === null ? null : { code: row.failure_code, message: row.failure_message, step: row.failure_step },
    progress: describeProgress(row),
    createdAt: toInstant(row.created_at),
    sentAt: toInstant(row.sent_at),
    startedAt: toInstant(row.started_at),
    finishedAt: toInstant(row.finished_at),
    parentId: row.parent_id,
    rootId: row.root_id,
  };
}

export function describeExecutionDetail(row: ExecutionDetailRow): ExecutionDetail {
  const execution = describeExecution(row);
  return {
    ...execution,
    failure: execution.failure && { ...execution.failure, stack: row.failure_stack },
    items: { count: row.item_count, failedCount: row.failed_item_count, warningCount: row.warning_count },
    steps: row.steps.map(describeStep),
    children: row.children.map(describeRelated),
    attempts: row.attempts.map(describeRelated),
    plan: row.plan && describePlan(row.plan),
    logs: row.logs.map(({ logged_at, level, message, fields }) => ({ loggedAt: toInstant(logged_at), level, message, fields })),
  };
}

function describeProgress({ progress_done, progress_total, progress_message }: ExecutionRow): ExecutionDescription['progress'] {
  const isSilent = progress_done === null && progress_total === null && progress_message === null;
  return isSilent ? null : { done: progress_done, total: progress_total, message: progress_message };
}

function describeStep(row: StepRow): StepDescription {
  return {
    name: row.name,
    kind: row.kind,
    executionId: row.execution_id,
    state: row.state,
    output: row.output,
    outputBytes: row.output_bytes,
    failureMessage: row.failure_message,
    itemCount: row.item_count,
    failedItemCount: row.failed_item_count,
    warningCount: row.warning_count,
    startedAt: toInstant(row.started_at),
    finishedAt: toInstant(row.finished_at),
  };
}

function describeRelated(row: RelatedExecutionRow): RelatedExecution {
  return {
    id: row.id,
    workflow: row.workflow_name,
    stepName: row.step_name,
    groupIndex: row.group_index,
    state: row.state,
    attempt: row.attempt,
    failureMessage: row.failure_message,
    startedAt: toInstant(row.started_at),
    finishedAt: toInstant(row.finished_at),
  };
}
