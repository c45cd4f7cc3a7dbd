import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { ManifestId } from '../model/ids.ts';
import { type Differing, differing } from './differing-manifests.ts';
import { type ManifestRow, recordset } from './sync-rows.ts';

export interface CreatedManifest {
  id: ManifestId;
  externalId: string;
}

export interface ChangedManifest extends CreatedManifest {
  fields: string[];
  /** The fields that differ, as they were and as they become. */
  before: Record<string, unknown>;
  after: Record<string, unknown>;
  /** It was disabled or on its way out, and will run by itself again. */
  isSwitchedOn: boolean;
}

/** Which of these do not exist yet. */
export async function findMissingManifests(db: Db, externalIds: string[]): Promise<string[]> {
  const missing = await db.query<{ externalId: string }>(sql`
    select d.external_id as "externalId" from unnest(${externalIds}::text[]) d (external_id)
     where not exists (select from waybill.manifest m where m.external_id = d.external_id and m.deleted_at is null)
     order by 1`);
  return missing.map(({ externalId }) => externalId);
}

/** Inserts new ones; one that is missing from the answer exists by now. */
export function createManifests(db: Db, owner: string, deploymentVersion: number | null, rows: ManifestRow[]): Promise<CreatedManifest[]> {
  return db.query<CreatedManifest>(sql`
    insert into waybill.manifest (external_id, kind, workflow_name, input, pool, group_id, schedule_type, cron_expression, time_zone, interval_seconds,
                                  anchor, run_at, dependency_mode, next_occurrence_at, misfire_policy, misfire_limit, misfire_threshold_seconds,
                                  exclusions, jitter_seconds, max_attempts, backoff_initial_seconds, backoff_factor, backoff_max_seconds,
                                  backoff_jitter, timeout_seconds, priority, expect_within_seconds, is_enabled, owner, deployment_version, stated)
    select d.external_id, d.kind, d.workflow_name, d.input_text::jsonb, d.pool, g.id, d.schedule_type, d.cron_expression, d.time_zone, d.interval_seconds,
           d.anchor, d.run_at, d.dependency_mode, d.next_occurrence_at, coalesce(d.misfire_policy, 'fire_once'), d.misfire_limit,
           coalesce(d.misfire_threshold_seconds, 60), coalesce(d.exclusions, '[]'), coalesce(d.jitter_seconds, 0), coalesce(d.max_attempts, 3),
           coalesce(d.backoff_initial_seconds, 10), coalesce(d.backoff_factor, 2), coalesce(d.backoff_max_seconds, 3600),
           coalesce(d.backoff_jitter, 0.2), d.timeout_seconds, coalesce(d.priority, 0), d.expect_within_seconds, coalesce(d.is_enabled, true),
           ${owner}, ${deploymentVersion}, d.stated
      from ${recordset(rows)} cross join lateral (select g.id from waybill.manifest_group g where g.name = d.group_name offset 0) g
     order by d.external_id
        on conflict (external_id) where deleted_at is null do nothing
    returning id, external_id as "externalId"`);
}

/** What {@link changeManifests} will write, so that it can be locked first, together with everything else. It locks and writes nothing itself. */
export function findChangedManifests(db: Db, of: Differing): Promise<ChangedManifest[]> {
  return db.query<ChangedManifest>(sql`
    with ${differing(of)}
    select target_id as id, external_id as "externalId", fields, before, after, is_switched_on as "isSwitchedOn" from changed order by external_id`);
}

/** Writes only what differs, of rows that the caller has locked. Any change but a switch ends a quarantine; when it is due is decided by markDue afterwards. */
export function changeManifests(db: Db, of: Differing, deploymentVersion: number | null): Promise<ChangedManifest[]> {
  return db.query<ChangedManifest>(sql`
    with ${differing(of)}
    update waybill.manifest m
       set group_id = t.group_id, workflow_name = t.workflow_name, input = t.input, pool = t.pool, schedule_type = t.schedule_type,
           cron_expression = t.cron_expression, time_zone = t.time_zone, interval_seconds = t.interval_seconds, anchor = t.anchor,
           run_at = t.run_at, dependency_mode = t.dependency_mode, next_occurrence_at = t.next_occurrence_at, next_due_at = null,
           misfire_policy = t.misfire_policy, misfire_limit = t.misfire_limit, misfire_threshold_seconds = t.misfire_threshold_seconds,
           exclusions = t.exclusions, jitter_seconds = t.jitter_seconds, max_attempts = t.max_attempts,
           backoff_initial_seconds = t.backoff_initial_seconds, backoff_factor = t.backoff_factor, backoff_max_seconds = t.backoff_max_seconds,
           backoff_jitter = t.backoff_jitter, timeout_seconds = t.timeout_seconds, priority = t.priority,
           expect_within_seconds = t.expect_within_seconds, is_enabled = t.is_enabled, stated = t.stated, quarantine_error = t.quarantine_error, retiring_at = null,
           deployment_version = coalesce(${deploymentVersion}, m.deployment_version), version = m.version + 1, updated_at = waybill.now()
      from changed t
     where m.id = t.target_id
    returning m.id, m.external_id as "externalId", t.fields, t.before, t.after, t.is_switched_on as "isSwitchedOn"`);
}
