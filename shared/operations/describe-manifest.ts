import type { ManifestState } from '../db/queries/manifest-state.ts';
import type { PlanStep } from '../db/queries/plan-steps.ts';
import type { ManifestRow } from '../db/queries/select-manifests.ts';
import { toInstant } from './instant.ts';

/** A manifest as people and programs see it. */
export interface ManifestDescription {
  externalId: string;
  kind: 'job' | 'plan';
  workflow: string | null;
  input: unknown;
  group: string;
  pool: string | null;
  schedule: {
    type: ManifestRow['schedule_type'];
    cron: string | null;
    timeZone: string | null;
    intervalSeconds: number | null;
    runAt: string | null;
    /** External ids of the parents that still exist. */
    dependsOn: string[];
    mode: 'all' | 'any' | null;
  };
  isEnabled: boolean;
  priority: number;
  maxAttempts: number;
  timeoutSeconds: number | null;
  /** The app that declares it, or `runtime`. */
  owner: string;
  /** Counts the changes to what is declared: give it back with a change to be told if somebody was faster. */
  version: number;
  nextDueAt: string | null;
  lastSuccessfulRun: string | null;
  successCount: number;
  failedCount: number;
  lastSkip: { reason: string; at: string; count: number } | null;
  state: ManifestState;
  /** At most five, the newest first. */
  lastRuns: { id: string; state: string; startedAt: string | null; finishedAt: string | null }[];
}

/** A manifest by itself. */
export interface ManifestDetail extends ManifestDescription {
  /** Of a plan: its groups in the order in which they run, each with the steps that run side by side. Null for a job. */
  steps: PlanStep[][] | null;
}

export function describeManifest(row: ManifestRow): ManifestDescription {
  return {
    externalId: row.external_id,
    kind: row.kind,
    workflow: row.workflow_name,
    input: row.input,
    group: row.group_name,
    pool: row.pool,
    schedule: {
      type: row.schedule_type,
      cron: row.cron_expression,
      timeZone: row.time_zone,
      intervalSeconds: row.interval_seconds,
      runAt: toInstant(row.run_at),
      dependsOn: row.parents,
      mode: row.dependency_mode,
    },
    isEnabled: row.is_enabled,
    priority: row.priority,
    maxAttempts: row.max_attempts,
    timeoutSeconds: row.timeout_seconds,
    owner: row.owner,
    version: row.version,
    nextDueAt: toInstant(row.next_due_at),
    lastSuccessfulRun: toInstant(row.last_successful_run),
    successCount: row.success_count,
    failedCount: row.failed_count,
    lastSkip: describeSkip(row),
    state: row.state,
    lastRuns: row.last_runs.map(({ id, state, started_at, finished_at }) => ({
      id,
      state,
      startedAt: toInstant(started_at),
      finishedAt: toInstant(finished_at),
    })),
  };
}

function describeSkip({ last_skip_reason, last_skip_at, skip_count }: ManifestRow): ManifestDescription['lastSkip'] {
  return last_skip_reason === null || last_skip_at === null
    ? null
    : { reason: last_skip_reason, at: toInstant(last_skip_at), count: skip_count };
}
