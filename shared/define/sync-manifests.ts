import type { Db } from '../db/database.ts';
import { type Sql, sql } from '../db/sql.ts';
import type { ManifestId } from '../model/ids.ts';
import { nextOccurrence } from '../time/next-occurrence.ts';
import type { ManifestDefinition, ScheduleDefinition } from './definition.ts';

export interface WrittenManifest {
  id: ManifestId;
  externalId: string;
}

/** A manifest as a row; what is not stated is absent and stays as it is. `next_occurrence_at` applies to new and rescheduled ones. */
export function toRows(manifests: ManifestDefinition[], now: Date) {
  return manifests.map(({ schedule, backoff, misfire, ...manifest }) => ({
    external_id: manifest.externalId,
    workflow_name: manifest.workflow,
    // A null inside the recordset would be SQL's, not JSON's.
    input_text: JSON.stringify(manifest.input ?? null),
    pool: manifest.pool,
    group_name: manifest.group,
    schedule_type: schedule.type,
    ...scheduleColumns(schedule),
    next_occurrence_at: firstOccurrence(schedule, now),
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
  }));
}

type ManifestRow = ReturnType<typeof toRows>[number];

function scheduleColumns(schedule: ScheduleDefinition) {
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
function firstOccurrence(schedule: ScheduleDefinition, now: Date): Date | string | undefined {
  if (schedule.type === 'cron') return nextOccurrence(schedule, now);
  if (schedule.type === 'interval') return now;
  return schedule.type === 'once' ? schedule.runAt : undefined;
}

function recordset(rows: ManifestRow[]): Sql {
  return sql`jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as d (
    external_id text, workflow_name text, input_text text, pool text, group_name text, schedule_type waybill.schedule_type, cron_expression text,
    time_zone text, interval_seconds integer, anchor waybill.interval_anchor, run_at timestamptz, dependency_mode waybill.dependency_mode,
    next_occurrence_at timestamptz, misfire_policy waybill.misfire_policy, misfire_limit integer, misfire_threshold_seconds integer, exclusions jsonb,
    jitter_seconds integer, max_attempts integer, backoff_initial_seconds integer, backoff_factor double precision, backoff_max_seconds integer,
    backoff_jitter double precision, timeout_seconds integer, priority smallint, expect_within_seconds integer, is_enabled boolean)`;
}

/**
 * Inserts what does not exist yet; a missing one does. What is there is left out beforehand: `on conflict` alone would wait for whoever is writing such a row, which an
 * unchanged manifest must not.
 */
export function createManifests(db: Db, owner: string, deploymentVersion: number | null, rows: ManifestRow[]): Promise<WrittenManifest[]> {
  return db.query<WrittenManifest>(sql`
    insert into waybill.manifest (external_id, workflow_name, input, pool, group_id, schedule_type, cron_expression, time_zone, interval_seconds,
                                  anchor, run_at, dependency_mode, next_occurrence_at, misfire_policy, misfire_limit, misfire_threshold_seconds,
                                  exclusions, jitter_seconds, max_attempts, backoff_initial_seconds, backoff_factor, backoff_max_seconds,
                                  backoff_jitter, timeout_seconds, priority, expect_within_seconds, is_enabled, owner, deployment_version)
    select d.external_id, d.workflow_name, d.input_text::jsonb, d.pool, g.id, d.schedule_type, d.cron_expression, d.time_zone, d.interval_seconds,
           d.anchor, d.run_at, d.dependency_mode, d.next_occurrence_at, coalesce(d.misfire_policy, 'fire_once'), d.misfire_limit,
           coalesce(d.misfire_threshold_seconds, 60), coalesce(d.exclusions, '[]'), coalesce(d.jitter_seconds, 0), coalesce(d.max_attempts, 3),
           coalesce(d.backoff_initial_seconds, 10), coalesce(d.backoff_factor, 2), coalesce(d.backoff_max_seconds, 3600),
           coalesce(d.backoff_jitter, 0.2), d.timeout_seconds, coalesce(d.priority, 0), d.expect_within_seconds, coalesce(d.is_enabled, true),
           ${owner}, ${deploymentVersion}
      from ${recordset(rows)} join waybill.manifest_group g on g.name = d.group_name
     where not exists (select from waybill.manifest m where m.external_id = d.external_id and m.deleted_at is null)
     order by d.external_id
        on conflict (external_id) where deleted_at is null do nothing
    returning id, external_id as "externalId"`);
}

/**
 * The rows that differ, with what they should become: stated values over present ones. A changed schedule is computed anew from now. One that is switched on keeps its
 * rhythm and goes on from now, so time spent disabled is never a misfire; a once keeps its instant.
 */
function differing(owner: string, rows: ManifestRow[]): Sql {
  return sql`
    stated as (
      select m.id, d.*, g.id as group_id,
             (d.schedule_type, d.cron_expression, d.time_zone, d.interval_seconds, d.anchor, d.run_at)
               is distinct from (m.schedule_type, m.cron_expression, m.time_zone, m.interval_seconds, m.anchor, m.run_at) as is_rescheduled,
             (d.is_enabled and not m.is_enabled) or m.retiring_at is not null as is_switched_on
        from ${recordset(rows)}
        join waybill.manifest m on m.external_id = d.external_id and m.deleted_at is null and m.owner = ${owner}
        join waybill.manifest_group g on g.name = d.group_name
    ), target as (
      select s.id as target_id, s.group_id, s.workflow_name, s.input_text::jsonb as input, coalesce(s.pool, m.pool) as pool, s.schedule_type, s.cron_expression, s.time_zone,
             s.interval_seconds, s.anchor, s.run_at, s.dependency_mode,
             case when s.is_rescheduled or (s.is_switched_on and s.schedule_type = 'cron') then s.next_occurrence_at
                  when s.is_switched_on and s.schedule_type = 'interval' then waybill.next_on_grid(m.next_occurrence_at, m.interval_seconds)
                  else m.next_occurrence_at end as next_occurrence_at,
             s.is_rescheduled or s.is_switched_on as is_anew, coalesce(s.misfire_policy, m.misfire_policy) as misfire_policy,
             case when s.misfire_policy is null then m.misfire_limit else s.misfire_limit end as misfire_limit,
             coalesce(s.misfire_threshold_seconds, m.misfire_threshold_seconds) as misfire_threshold_seconds,
             coalesce(s.exclusions, m.exclusions) as exclusions, coalesce(s.jitter_seconds, m.jitter_seconds) as jitter_seconds,
             coalesce(s.max_attempts, m.max_attempts) as max_attempts,
             coalesce(s.backoff_initial_seconds, m.backoff_initial_seconds) as backoff_initial_seconds,
             coalesce(s.backoff_factor, m.backoff_factor) as backoff_factor, coalesce(s.backoff_max_seconds, m.backoff_max_seconds) as backoff_max_seconds,
             coalesce(s.backoff_jitter, m.backoff_jitter) as backoff_jitter, coalesce(s.timeout_seconds, m.timeout_seconds) as timeout_seconds,
             coalesce(s.priority, m.priority) as priority, coalesce(s.expect_within_seconds, m.expect_within_seconds) as expect_within_seconds,
             coalesce(s.is_enabled, m.is_enabled) as is_enabled
        from stated s join waybill.manifest m on m.id = s.id
    ), changed as (
      select t.* from target t join waybill.manifest m on m.id = t.target_id
       where t.is_anew or m.quarantine_error is not null or
             (t.group_id, t.workflow_name, t.input, t.pool, t.dependency_mode, t.misfire_policy, t.misfire_limit, t.misfire_threshold_seconds,
              t.exclusions, t.jitter_seconds, t.max_attempts, t.backoff_initial_seconds, t.backoff_factor, t.backoff_max_seconds,
              t.backoff_jitter, t.timeout_seconds, t.priority, t.expect_within_seconds, t.is_enabled)
             is distinct from
             (m.group_id, m.workflow_name, m.input, m.pool, m.dependency_mode, m.misfire_policy, m.misfire_limit, m.misfire_threshold_seconds,
              m.exclusions, m.jitter_seconds, m.max_attempts, m.backoff_initial_seconds, m.backoff_factor, m.backoff_max_seconds,
              m.backoff_jitter, m.timeout_seconds, m.priority, m.expect_within_seconds, m.is_enabled)
    )`;
}

/** What {@link changeManifests} will write, so that it can be locked first, together with everything else. */
export function findChangedManifests(db: Db, owner: string, rows: ManifestRow[]): Promise<{ id: ManifestId; isDisabled: boolean }[]> {
  return db.query<{ id: ManifestId; isDisabled: boolean }>(sql`
    with ${differing(owner, rows)} select m.id, not m.is_enabled as "isDisabled" from changed join waybill.manifest m on m.id = target_id`);
}

/** Writes only what differs. Any change ends a quarantine; when it is due is decided by markDue afterwards. */
export function changeManifests(db: Db, owner: string, deploymentVersion: number | null, rows: ManifestRow[]): Promise<WrittenManifest[]> {
  return db.query<WrittenManifest>(sql`
    with ${differing(owner, rows)}
    update waybill.manifest m
       set group_id = t.group_id, workflow_name = t.workflow_name, input = t.input, pool = t.pool, schedule_type = t.schedule_type,
           cron_expression = t.cron_expression, time_zone = t.time_zone, interval_seconds = t.interval_seconds, anchor = t.anchor,
           run_at = t.run_at, dependency_mode = t.dependency_mode, next_occurrence_at = t.next_occurrence_at, next_due_at = null,
           misfire_policy = t.misfire_policy, misfire_limit = t.misfire_limit, misfire_threshold_seconds = t.misfire_threshold_seconds,
           exclusions = t.exclusions, jitter_seconds = t.jitter_seconds, max_attempts = t.max_attempts,
           backoff_initial_seconds = t.backoff_initial_seconds, backoff_factor = t.backoff_factor, backoff_max_seconds = t.backoff_max_seconds,
           backoff_jitter = t.backoff_jitter, timeout_seconds = t.timeout_seconds, priority = t.priority,
           expect_within_seconds = t.expect_within_seconds, is_enabled = t.is_enabled, quarantine_error = null, retiring_at = null,
           deployment_version = ${deploymentVersion}, version = m.version + 1, updated_at = waybill.now()
      from changed t
     where m.id = t.target_id
    returning m.id, m.external_id as "externalId"`);
}
