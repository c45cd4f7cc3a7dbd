import type { DeadLetterRow, DeadLetterStatus } from '../db/queries/select-dead-letters.ts';
import { toInstant } from './instant.ts';

/** An exhausted failure that waits, or waited, for a person. */
export interface DeadLetterDescription {
  id: string;
  /** An external id; null for an ad-hoc run. */
  manifest: string | null;
  workflow: string | null;
  executionId: string;
  runId: string;
  status: DeadLetterStatus;
  reason: string;
  /** What the failing run said. */
  message: string | null;
  failedCount: number;
  /** The failing run's: a retry without an edited one gets it again. */
  input: unknown;
  createdAt: string;
  resolvedAt: string | null;
  resolvedBy: { type: string; id: string | null; name: string | null } | null;
  resolutionNote: string | null;
}

export function describeDeadLetter(row: DeadLetterRow): DeadLetterDescription {
  return {
    id: row.id,
    manifest: row.manifest,
    workflow: row.workflow_name,
    executionId: row.execution_id,
    runId: row.run_id,
    status: row.status,
    reason: row.reason,
    message: row.message,
    failedCount: row.failed_count,
    input: row.input,
    createdAt: toInstant(row.created_at),
    resolvedAt: toInstant(row.resolved_at),
    resolvedBy: row.resolved_by_type === null ? null : { type: row.resolved_by_type, id: row.resolved_by_id, name: row.resolved_by_name },
    resolutionNote: row.resolution_note,
  };
}
