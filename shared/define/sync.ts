import type { Database, Db } from '../db/database.ts';
import { readNow } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import { WaybillError } from '../errors.ts';
import type { ManifestId } from '../model/ids.ts';
import { nextOccurrence } from '../time/next-occurrence.ts';
import { markDue } from '../transitions/mark-due.ts';
import type { AppDefinition, GroupDefinition, ManifestDefinition, WorkflowDefinition } from './definition.ts';
import { pruneManifests } from './prune-manifests.ts';

/** What a sync did, by external id. */
export interface SyncReport {
  deploymentVersion: number;
  created: string[];
  changed: string[];
  unchangedCount: number;
  pruned: string[];
}

/**
 * Makes the database say what the app declares, in one transaction: killed before its commit, nothing changed. Code wins only for
 * what it states, so an operator's switch survives a deployment; only rows that differ are locked and written; what this
 * owner no longer declares is pruned, and nothing is pruned by an app that declares nothing.
 */
export function syncApp(database: Database, definition: AppDefinition, definitionHash: string): Promise<SyncReport> {
  return database.transaction(async (db) => {
    // Writers of groups and edges take turns, so that two of them cannot together make what neither would alone.
    await db.query(sql`select pg_advisory_xact_lock(hashtextextended(${'waybill:graph'}, 0))`);
    const deploymentVersion = await recordDeployment(db, definition.name, definitionHash);
    await refuseForeignIds(db, definition);
    await syncGroups(db, definition.groups);
    await syncWorkflows(db, definition, deploymentVersion);
    const rows = toRows(definition.manifests, await readNow(db));
    const created = await createManifests(db, definition.name, deploymentVersion, rows);
    const changed = await changeManifests(db, definition.name, deploymentVersion, rows);
    await markDue(
      db,
      [...created, ...changed].map(({ id }) => id),
    );
    const pruned = definition.manifests.length
      ? await pruneManifests(
          db,
          definition.name,
          rows.map((row) => row.external_id),
        )
      : [];
    const report = {
      deploymentVersion,
      created: created.map(({ externalId }) => externalId),
      changed: changed.map(({ externalId }) => externalId),
      unchangedCount: rows.length - created.length - changed.length,
      pruned,
    };
    await db.query(sql`
      update waybill.deployment set applied_at = waybill.now(), summary = ${JSON.stringify(report)}::jsonb where version = ${deploymentVersion}`);
    return report;
  });
}

async function recordDeployment(db: Db, owner: string, hash: string): Promise<number> {
  const [row] = await db.query<{ version: number }>(sql`
    insert into waybill.deployment (owner, definition_hash) values (${owner}, ${hash}) returning version`);
  return row!.version;
}

/** An id that another owner declares is not taken over: one of the two apps has to choose another. */
async function refuseForeignIds(db: Db, { name, manifests }: AppDefinition): Promise<void> {
  const foreign = await db.query<{ externalId: string; owner: string }>(sql`
    select external_id as "externalId", owner from waybill.manifest
     where external_id = any(${manifests.map(({ externalId }) => externalId)}::text[]) and deleted_at is null and owner <> ${name}
     order by external_id limit 20`);
  if (!foreign.length) return;
  const list = foreign.map(({ externalId, owner }) => `'${externalId}' belongs to '${owner}'`).join(', ');
  throw new WaybillError(
    'foreign_manifest',
    `app '${name}' declares manifests of another owner: ${list}. Choose other ids, or remove them there first`,
  );
}

async function syncGroups(db: Db, groups: GroupDefinition[]): Promise<void> {
  const stated = JSON.stringify(
    groups.map(({ name, priority, maxActiveJobs, isEnabled }) => ({
      name,
      priority,
      max_active_jobs: maxActiveJobs,
      is_enabled: isEnabled,
    })),
  );
  const columns = sql`jsonb_to_recordset(${stated}::jsonb) as d (name text, priority smallint, max_active_jobs integer, is_enabled boolean)`;
  await db.query(sql`
    insert into waybill.manifest_group (name, priority, max_active_jobs, is_enabled)
    select d.name, coalesce(d.priority, 0), d.max_active_jobs, coalesce(d.is_enabled, true) from ${columns} order by d.name
        on conflict (name) do nothing`);
  await db.query(sql`
    update waybill.manifest_group g
       set priority = coalesce(d.priority, g.priority), max_active_jobs = coalesce(d.max_active_jobs, g.max_active_jobs),
           is_enabled = coalesce(d.is_enabled, g.is_enabled), updated_at = waybill.now()
      from ${columns}
     where g.name = d.name and (d.priority <> g.priority or d.max_active_jobs is distinct from coalesce(g.max_active_jobs, 0) and d.max_active_jobs is not null
                                or d.is_enabled <> g.is_enabled)`);
}

async function syncWorkflows(db: Db, { name, workflows }: AppDefinition, deploymentVersion: number): Promise<void> {
  const stated = JSON.stringify(workflows.map((workflow: WorkflowDefinition) => ({ ...workflow, input_schema: workflow.inputSchema })));
  await db.query(sql`
    insert into waybill.workflow (name, owner, pool, input_schema, deployment_version)
    select d.name, ${name}, d.pool, d.input_schema, ${deploymentVersion}
      from jsonb_to_recordset(${stated}::jsonb) as d (name text, pool text, input_schema jsonb) order by d.name
        on conflict (name) do update
       set owner = excluded.owner, pool = excluded.pool, input_schema = excluded.input_schema, deployment_version = excluded.deployment_version,
           removed_at = null, updated_at = waybill.now()`);
  await db.query(sql`
    update waybill.workflow set removed_at = waybill.now(), updated_at = waybill.now()
     where owner = ${name} and deployment_version < ${deploymentVersion} and removed_at is null`);
}

/** A manifest as a row; what is not stated is absent and stays as it is. `next_occurrence_at` applies to new and rescheduled ones. */
function toRows(manifests: ManifestDefinition[], now: Date) {
  return manifests.map(({ schedule, backoff, misfire, ...manifest }) => ({
    external_id: manifest.externalId,
    workflow_name: manifest.workflow,
    input: manifest.input,
    pool: manifest.pool,
    group_name: manifest.group,
    schedule_type: schedule.type,
    cron_expression: schedule.type === 'cron' ? schedule.expression : undefined,
    time_zone: schedule.type === 'cron' ? schedule.timeZone : undefined,
    interval_seconds: schedule.type === 'interval' ? schedule.intervalSeconds : undefined,
    anchor: schedule.type === 'interval' ? schedule.anchor : undefined,
    next_occurrence_at: schedule.type === 'interval' ? now : nextOccurrence(schedule, now),
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
type Written = { id: ManifestId; externalId: string };

function recordset(rows: ManifestRow[]) {
  return sql`jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as d (
    external_id text, workflow_name text, input jsonb, pool text, group_name text, schedule_type waybill.schedule_type, cron_expression text,
    time_zone text, interval_seconds integer, anchor waybill.interval_anchor, next_occurrence_at timestamptz, misfire_policy waybill.misfire_policy,
    misfire_limit integer, misfire_threshold_seconds integer, exclusions jsonb, jitter_seconds integer, max_attempts integer,
    backoff_initial_seconds integer, backoff_factor double precision, backoff_max_seconds integer, backoff_jitter double precision,
    timeout_seconds integer, priority smallint, expect_within_seconds integer, is_enabled boolean)`;
}

function createManifests(db: Db, owner: string, deploymentVersion: number, rows: ManifestRow[]): Promise<Written[]> {
  return db.query<Written>(sql`
    insert into waybill.manifest (external_id, workflow_name, input, pool, group_id, schedule_type, cron_expression, time_zone, interval_seconds,
                                  anchor, next_occurrence_at, misfire_policy, misfire_limit, misfire_threshold_seconds, exclusions, jitter_seconds,
                                  max_attempts, backoff_initial_seconds, backoff_factor, backoff_max_seconds, backoff_jitter, timeout_seconds,
                                  priority, expect_within_seconds, is_enabled, owner, deployment_version)
    select d.external_id, d.workflow_name, d.input, d.pool, g.id, d.schedule_type, d.cron_expression, d.time_zone, d.interval_seconds,
           d.anchor, d.next_occurrence_at, coalesce(d.misfire_policy, 'fire_once'), d.misfire_limit, coalesce(d.misfire_threshold_seconds, 60),
           coalesce(d.exclusions, '[]'), coalesce(d.jitter_seconds, 0), coalesce(d.max_attempts, 3), coalesce(d.backoff_initial_seconds, 10),
           coalesce(d.backoff_factor, 2), coalesce(d.backoff_max_seconds, 3600), coalesce(d.backoff_jitter, 0.2), d.timeout_seconds,
           coalesce(d.priority, 0), d.expect_within_seconds, coalesce(d.is_enabled, true), ${owner}, ${deploymentVersion}
      from ${recordset(rows)} join waybill.manifest_group g on g.name = d.group_name
     order by d.external_id
        on conflict (external_id) where deleted_at is null do nothing
    returning id, external_id as "externalId"`);
}

/** Writes only what differs. A changed schedule, and one that is switched on, is computed anew from now; any change ends a quarantine. */
function changeManifests(db: Db, owner: string, deploymentVersion: number, rows: ManifestRow[]): Promise<Written[]> {
  return db.query<Written>(sql`
    with stated as (
      select m.id, d.*, g.id as group_id,
             (d.schedule_type, d.cron_expression, d.time_zone, d.interval_seconds, d.anchor)
               is distinct from (m.schedule_type, m.cron_expression, m.time_zone, m.interval_seconds, m.anchor)
               or (d.is_enabled and not m.is_enabled) or m.retiring_at is not null as is_rescheduled
        from ${recordset(rows)}
        join waybill.manifest m on m.external_id = d.external_id and m.deleted_at is null and m.owner = ${owner}
        join waybill.manifest_group g on g.name = d.group_name
    ), target as (
      select s.id as target_id, s.group_id, s.workflow_name, s.input, coalesce(s.pool, m.pool) as pool, s.schedule_type, s.cron_expression, s.time_zone,
             s.interval_seconds, s.anchor, case when s.is_rescheduled then s.next_occurrence_at else m.next_occurrence_at end as next_occurrence_at,
             s.is_rescheduled, coalesce(s.misfire_policy, m.misfire_policy) as misfire_policy,
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
    )
    update waybill.manifest m
       set group_id = t.group_id, workflow_name = t.workflow_name, input = t.input, pool = t.pool, schedule_type = t.schedule_type,
           cron_expression = t.cron_expression, time_zone = t.time_zone, interval_seconds = t.interval_seconds, anchor = t.anchor,
           next_occurrence_at = t.next_occurrence_at, next_due_at = null, misfire_policy = t.misfire_policy, misfire_limit = t.misfire_limit,
           misfire_threshold_seconds = t.misfire_threshold_seconds, exclusions = t.exclusions, jitter_seconds = t.jitter_seconds,
           max_attempts = t.max_attempts, backoff_initial_seconds = t.backoff_initial_seconds, backoff_factor = t.backoff_factor,
           backoff_max_seconds = t.backoff_max_seconds, backoff_jitter = t.backoff_jitter, timeout_seconds = t.timeout_seconds,
           priority = t.priority, expect_within_seconds = t.expect_within_seconds, is_enabled = t.is_enabled, quarantine_error = null,
           retiring_at = null, deployment_version = ${deploymentVersion}, version = m.version + 1, updated_at = waybill.now()
      from target t
     where m.id = t.target_id and (t.is_rescheduled or m.quarantine_error is not null or
           (t.group_id, t.workflow_name, t.input, t.pool, t.misfire_policy, t.misfire_limit, t.misfire_threshold_seconds, t.exclusions,
            t.jitter_seconds, t.max_attempts, t.backoff_initial_seconds, t.backoff_factor, t.backoff_max_seconds, t.backoff_jitter,
            t.timeout_seconds, t.priority, t.expect_within_seconds, t.is_enabled)
           is distinct from
           (m.group_id, m.workflow_name, m.input, m.pool, m.misfire_policy, m.misfire_limit, m.misfire_threshold_seconds, m.exclusions,
            m.jitter_seconds, m.max_attempts, m.backoff_initial_seconds, m.backoff_factor, m.backoff_max_seconds, m.backoff_jitter,
            m.timeout_seconds, m.priority, m.expect_within_seconds, m.is_enabled))
    returning m.id, m.external_id as "externalId"`);
}
