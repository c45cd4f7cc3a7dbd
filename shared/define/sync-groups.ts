import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { AppDefinition, GroupDefinition } from './definition.ts';

/**
 * Creates groups that are missing and changes what the app states about the others; a group it says nothing about stays as operators left it.
 * Gives the groups that were switched on: what they held must be looked at.
 */
export async function syncGroups(db: Db, groups: GroupDefinition[]): Promise<number[]> {
  const stated = groups.map(({ name, priority, maxActiveJobs, isEnabled }) => ({
    name,
    priority,
    max_active_jobs: maxActiveJobs,
    is_enabled: isEnabled,
  }));
  const columns = sql`jsonb_to_recordset(${JSON.stringify(stated)}::jsonb) as d (name text, priority smallint, max_active_jobs integer, is_enabled boolean)`;
  await db.query(sql`
    insert into waybill.manifest_group (name, priority, max_active_jobs, is_enabled)
    select d.name, coalesce(d.priority, 0), d.max_active_jobs, coalesce(d.is_enabled, true) from ${columns}
     where not exists (select from waybill.manifest_group g where g.name = d.name)
     order by d.name
        on conflict (name) do nothing`);
  const changed = await db.query<{ id: number; isSwitchedOn: boolean }>(sql`
    with target as (
      select g.id, coalesce(d.priority, g.priority) as priority, coalesce(d.max_active_jobs, g.max_active_jobs) as max_active_jobs,
             coalesce(d.is_enabled, g.is_enabled) as is_enabled, coalesce(d.is_enabled, false) as is_stated_enabled
        from waybill.manifest_group g join ${columns} on d.name = g.name
    )
    update waybill.manifest_group g
       set priority = t.priority, max_active_jobs = t.max_active_jobs, is_enabled = t.is_enabled, updated_at = waybill.now()
      from target t
     where g.id = t.id and (t.priority, t.max_active_jobs, t.is_enabled) is distinct from (g.priority, g.max_active_jobs, g.is_enabled)
    returning g.id, t.is_stated_enabled as "isSwitchedOn"`);
  return changed.filter(({ isSwitchedOn }) => isSwitchedOn).map(({ id }) => id);
}

/** Tells the database which workflows the deployed code knows; those it no longer knows are marked, their history stays. */
export async function syncWorkflows(db: Db, { name, workflows }: AppDefinition, deploymentVersion: number): Promise<void> {
  const stated = JSON.stringify(workflows.map((workflow) => ({ ...workflow, input_schema: workflow.inputSchema })));
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
