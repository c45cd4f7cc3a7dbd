import type { Db } from '../db/database.ts';
import { type Sql, sql } from '../db/sql.ts';
import type { GroupDefinition } from './definition.ts';
import { mergeGroups } from './merge-groups.ts';

interface GroupSettings {
  priority: number;
  maxActiveJobs: number | null;
  isEnabled: boolean;
}

interface PlannedGroup {
  name: string;
  stated: unknown;
  after: GroupSettings;
}

export interface ChangedGroup extends PlannedGroup {
  id: number;
  before: GroupSettings;
}

export interface GroupPlan {
  created: PlannedGroup[];
  changed: ChangedGroup[];
}

export interface PlanGroups {
  owner: string;
  groups: GroupDefinition[];
  /** These are all groups of the owner: what it stated of one before and does not any more is taken back. */
  isComplete: boolean;
}

/** A setting goes back to its default when its owner stated it before, does not any more, nobody has set it since, and no other owner states it. */
const settled = (column: Sql, name: string, fallback: Sql, { owner, isComplete }: PlanGroups) => sql`coalesce(d.${column}, case
  when ${isComplete}::boolean and g.stated -> ${owner} -> ${name} = to_jsonb(g.${column})
       and not exists (select from jsonb_each(g.stated) o where o.key <> ${owner} and o.value ? ${name})
  then ${fallback} else g.${column} end)`;

/** Which groups are missing, and what the owner states about the others; a group it says nothing about stays as operators left it. */
export async function planGroups(db: Db, plan: PlanGroups): Promise<GroupPlan> {
  const { owner, groups, isComplete } = plan;
  const stated = mergeGroups(groups).groups.map(({ name, priority, maxActiveJobs, isEnabled }) => ({
    name,
    priority,
    max_active_jobs: maxActiveJobs,
    is_enabled: isEnabled,
  }));
  const planned = await db.query<PlannedGroup & { id: number | null; before: GroupSettings }>(sql`
    with declared as (
      select d.*, jsonb_strip_nulls(jsonb_build_object('priority', d.priority, 'max_active_jobs', d.max_active_jobs, 'is_enabled', d.is_enabled)) as now_stated
        from jsonb_to_recordset(${JSON.stringify(stated)}::jsonb) as d (name text, priority smallint, max_active_jobs integer, is_enabled boolean)
    ), target as (
      select g.id, d.name, coalesce(${settled(sql`priority`, 'priority', sql`0`, plan)}, 0) as priority,
             ${settled(sql`max_active_jobs`, 'max_active_jobs', sql`null`, plan)} as max_active_jobs,
             coalesce(${settled(sql`is_enabled`, 'is_enabled', sql`true`, plan)}, true) as is_enabled,
             case when not ${isComplete}::boolean then coalesce(g.stated, '{}')
                  when d.now_stated = '{}' then coalesce(g.stated, '{}') - ${owner}::text
                  else coalesce(g.stated, '{}') || jsonb_build_object(${owner}::text, d.now_stated) end as stated,
             g.priority as old_priority, g.max_active_jobs as old_max_active_jobs, g.is_enabled as old_is_enabled, g.stated as old_stated
        from declared d left join lateral (select * from waybill.manifest_group g where g.name = d.name offset 0) g on true
    )
    select t.id, t.name, t.stated,
           json_build_object('priority', t.old_priority, 'maxActiveJobs', t.old_max_active_jobs, 'isEnabled', t.old_is_enabled) as before,
           json_build_object('priority', t.priority, 'maxActiveJobs', t.max_active_jobs, 'isEnabled', t.is_enabled) as after
      from target t
     where t.id is null
        or (t.priority, t.max_active_jobs, t.is_enabled, t.stated) is distinct from (t.old_priority, t.old_max_active_jobs, t.old_is_enabled, t.old_stated)
     order by t.name`);
  return {
    created: planned.filter(({ id }) => id === null),
    changed: planned.filter((group): group is ChangedGroup => group.id !== null),
  };
}

/** Writes the plan. It is still true: whoever changes a group holds the graph lock, as the caller does. */
export async function writeGroups(db: Db, { created, changed }: GroupPlan): Promise<void> {
  if (created.length) {
    // An ad-hoc run creates its group without that lock; one that appeared meanwhile has nothing but defaults.
    await db.query(sql`
      insert into waybill.manifest_group (name, priority, max_active_jobs, is_enabled, stated)
      select d.name, d.priority, d.max_active_jobs, d.is_enabled, d.stated from ${recordset(created)} order by d.name
          on conflict (name) do update
         set priority = excluded.priority, max_active_jobs = excluded.max_active_jobs, is_enabled = excluded.is_enabled, stated = excluded.stated`);
  }
  if (!changed.length) return;
  // In the order of ids, as claims take them: an update by itself would take them as they come.
  await db.query(sql`
    select id from waybill.manifest_group where id = any(${changed.map(({ id }) => id)}::bigint[]) order by id for no key update`);
  await db.query(sql`
    update waybill.manifest_group g
       set priority = d.priority, max_active_jobs = d.max_active_jobs, is_enabled = d.is_enabled, stated = d.stated, updated_at = waybill.now()
      from ${recordset(changed)} where g.name = d.name`);
}

function recordset(groups: PlannedGroup[]): Sql {
  return sql`unnest(${groups.map(({ name }) => name)}::text[], ${groups.map(({ after }) => after.priority)}::smallint[],
                    ${groups.map(({ after }) => after.maxActiveJobs)}::integer[], ${groups.map(({ after }) => after.isEnabled)}::boolean[],
                    ${groups.map(({ stated }) => JSON.stringify(stated))}::jsonb[]) d (name, priority, max_active_jobs, is_enabled, stated)`;
}
