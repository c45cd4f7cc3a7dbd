import type { PlanStep } from '../db/queries/plan-steps.ts';
import { type Sql, sql } from '../db/sql.ts';
import { nextOccurrence } from '../time/next-occurrence.ts';
import type { ManifestDefinition, ScheduleDefinition } from './definition.ts';
import { toSteps } from './sync-steps.ts';

/**
 * A manifest as the statements take it, by column; `undefined` is absent in JSON. What may be left out is stated or stays as it is. `next_occurrence_at` applies to new and
 * rescheduled ones.
 */
export interface ManifestRow extends StatedColumns {
  external_id: string;
  /** Of a new one; it never changes. */
  kind?: 'job' | 'plan';
  workflow_name: string | null;
  /** Of a plan, when all that is declared of it is given. */
  steps?: PlanStep[][];
  input_text: string;
  group_name: string;
  schedule_type: ScheduleDefinition['type'];
  cron_expression?: string | null;
  time_zone?: string | null;
  interval_seconds?: number | null;
  anchor?: string | null;
  run_at?: string | null;
  dependency_mode?: string | null;
  next_occurrence_at?: Date | string;
  /** Of those that may be left out, what the owner states. */
  stated: StatedColumns;
  /** Columns to put back to their default: for a change to single settings, which has no other way to say so. */
  resets?: string[];
}

/** The columns that may be left out. */
export interface StatedColumns {
  pool?: string;
  misfire_policy?: string;
  misfire_limit?: number;
  misfire_threshold_seconds?: number;
  exclusions?: unknown;
  jitter_seconds?: number;
  max_attempts?: number;
  backoff_initial_seconds?: number;
  backoff_factor?: number;
  backoff_max_seconds?: number;
  backoff_jitter?: number;
  timeout_seconds?: number;
  priority?: number;
  expect_within_seconds?: number;
  is_enabled?: boolean;
}

export function toRows(manifests: ManifestDefinition[], now: Date): ManifestRow[] {
  return manifests.map((manifest) => {
    const { externalId, workflow, steps, input, group, schedule } = manifest;
    const stated = toStatedColumns(manifest);
    return {
      external_id: externalId,
      kind: steps ? 'plan' : 'job',
      workflow_name: workflow,
      ...(steps && { steps: toSteps(steps) }),
      // A null inside the recordset would be SQL's, not JSON's.
      input_text: JSON.stringify(input ?? null),
      group_name: group,
      schedule_type: schedule.type,
      ...toScheduleColumns(schedule),
      next_occurrence_at: firstOccurrence(schedule, now),
      ...stated,
      stated,
    };
  });
}

/** The settings that may be left out, by column. */
export function toStatedColumns({ backoff, misfire, ...manifest }: Partial<ManifestDefinition>): StatedColumns {
  return {
    pool: manifest.pool,
    misfire_policy: misfire?.policy,
    misfire_limit: misfire?.limit,
    misfire_threshold_seconds: manifest.misfireThresholdSeconds,
    exclusions: manifest.exclusions,
    jitter_seconds: manifest.jitterSeconds,
    max_attempts: manifest.maxAttempts,
    backoff_initial_seconds: backoff?.initialSeconds,
    backoff_factor: backoff?.factor,
    backoff_max_seconds: backoff?.maxSeconds,
    backoff_jitter: backoff?.jitter,
    timeout_seconds: manifest.timeoutSeconds,
    priority: manifest.priority,
    expect_within_seconds: manifest.expectWithinSeconds,
    is_enabled: manifest.isEnabled,
  };
}

function toScheduleColumns(schedule: ScheduleDefinition) {
  switch (schedule.type) {
    case 'cron':
      return { cron_expression: schedule.expression, time_zone: schedule.timeZone };
    case 'interval':
      return { interval_seconds: schedule.intervalSeconds, anchor: schedule.anchor };
    case 'once':
      return { run_at: schedule.runAt };
    case 'dependent':
    case 'dormant_dependent':
      return { dependency_mode: schedule.mode };
    case 'none':
      return {};
  }
}

/** A cron's first occurrence after now; an interval begins at once; a once has its instant; the others have none. */
export function firstOccurrence(schedule: ScheduleDefinition, now: Date): Date | string | undefined {
  if (schedule.type === 'cron') return nextOccurrence(schedule, now);
  if (schedule.type === 'interval') return now;
  return schedule.type === 'once' ? schedule.runAt : undefined;
}

export function recordset(rows: ManifestRow[]): Sql {
  return sql`jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as d (
    external_id text, kind waybill.manifest_kind, workflow_name text, steps jsonb, input_text text, pool text, group_name text, schedule_type waybill.schedule_type, cron_expression text,
    time_zone text, interval_seconds integer, anchor waybill.interval_anchor, run_at timestamptz, dependency_mode waybill.dependency_mode,
    next_occurrence_at timestamptz, misfire_policy waybill.misfire_policy, misfire_limit integer, misfire_threshold_seconds integer, exclusions jsonb,
    jitter_seconds integer, max_attempts integer, backoff_initial_seconds integer, backoff_factor double precision, backoff_max_seconds integer,
    backoff_jitter double precision, timeout_seconds integer, priority smallint, expect_within_seconds integer, is_enabled boolean,
    stated jsonb, resets text[])`;
}
