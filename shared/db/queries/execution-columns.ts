import { sql } from '../sql.ts';

export const executionStates = [
  'waiting',
  'pending',
  'in_progress',
  'completed',
  'completed_with_warnings',
  'failed',
  'cancelled',
  'skipped',
] as const;
export type ExecutionState = (typeof executionStates)[number];

export interface ExecutionRow {
  id: string;
  run_id: string;
  parent_id: string | null;
  root_id: string;
  manifest: string | null;
  workflow_name: string | null;
  state: ExecutionState;
  attempt: number;
  origin: string;
  occurrence_at: Date | null;
  initiator_type: string;
  initiator_id: string | null;
  initiator_name: string | null;
  input: unknown;
  output: unknown;
  failure_code: string | null;
  failure_message: string | null;
  failure_step: string | null;
  progress_done: number | null;
  progress_total: number | null;
  progress_message: string | null;
  created_at: Date;
  sent_at: Date | null;
  started_at: Date | null;
  finished_at: Date | null;
}

/** What is shown of the execution `e` and its manifest `m`; ids as text, since JSON numbers end at 2^53. */
export const executionColumns = sql`
  e.id::text, e.run_id::text, e.parent_id::text, e.root_id::text, m.external_id as manifest, e.workflow_name, e.state, e.attempt, e.origin,
  e.occurrence_at, e.initiator_type, e.initiator_id, e.initiator_name, e.input, e.output, e.failure_code, e.failure_message,
  e.failure_step, e.progress_done, e.progress_total, e.progress_message, e.created_at, e.sent_at, e.started_at, e.finished_at`;
