import type { ExecutionRow, ExecutionState } from '../db/queries/execution-columns.ts';
import type { ExecutionDetailRow, RelatedExecutionRow, StepRow } from '../db/queries/select-execution.ts';
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
  steps: StepDescription[];
  children: RelatedExecution[];
  /** Every attempt of the same run, this one included, the first one first. */
  attempts: RelatedExecution[];
}

export interface StepDescription {
  name: string;
  state: StepRow['state'];
  /** Null when there is none, or when `outputBytes` exceeds 4096. */
  output: unknown;
  outputBytes: number | null;
  failureMessage: string | null;
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
    steps: row.steps.map(describeStep),
    children: row.children.map(describeRelated),
    attempts: row.attempts.map(describeRelated),
  };
}

function describeProgress({ progress_done, progress_total, progress_message }: ExecutionRow): ExecutionDescription['progress'] {
  const isSilent = progress_done === null && progress_total === null && progress_message === null;
  return isSilent ? null : { done: progress_done, total: progress_total, message: progress_message };
}

function describeStep(row: StepRow): StepDescription {
  return {
    name: row.name,
    state: row.state,
    output: row.output,
    outputBytes: row.output_bytes,
    failureMessage: row.failure_message,
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
