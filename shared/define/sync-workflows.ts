import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import { ConflictError } from '../errors.ts';
import type { AppDefinition, WorkflowDefinition } from './definition.ts';

export interface WorkflowPlan {
  created: string[];
  changed: string[];
  removed: string[];
}

interface ComparedWorkflow {
  name: string;
  owner: string | null;
  outcome: 'created' | 'changed' | 'removed' | 'foreign';
}

/**
 * Compares what the deployed code knows with what the database was told. A name that another app uses is refused: the runs of its manifests would land in code that they
 * were not meant for.
 */
export async function planWorkflows(db: Db, { name: owner, workflows }: AppDefinition): Promise<WorkflowPlan> {
  const differing = await db.query<ComparedWorkflow>(sql`
    with declared as (
      select * from jsonb_to_recordset(${toRecords(workflows)}::jsonb) as d (name text, pool text, input_schema jsonb)
    )
    select d.name, w.owner,
           case when w.name is null or w.removed_at is not null then 'created' when w.owner <> ${owner} then 'foreign' else 'changed' end as outcome
      from declared d left join waybill.workflow w on w.name = d.name
     where w.name is null or w.removed_at is not null or w.owner <> ${owner} or (w.pool, w.input_schema) is distinct from (d.pool, d.input_schema)
    union all
    select w.name, w.owner, 'removed' from waybill.workflow w
     where w.owner = ${owner} and w.removed_at is null and not exists (select from declared d where d.name = w.name)
     order by 1`);
  const named = (outcome: ComparedWorkflow['outcome']) => differing.filter((one) => one.outcome === outcome);
  const foreign = named('foreign').slice(0, 20);
  if (foreign.length) {
    const list = foreign.map((one) => `'${one.name}' belongs to '${one.owner}'`).join(', ');
    throw new ConflictError(
      'foreign_workflow',
      `app '${owner}' declares workflows of another owner: ${list}. Choose other names, or remove them there first`,
    );
  }
  const names = (outcome: ComparedWorkflow['outcome']) => named(outcome).map(({ name }) => name);
  return { created: names('created'), changed: names('changed'), removed: names('removed') };
}

/** Tells the database what differs; a workflow that the code no longer knows is marked, its history stays. */
export async function writeWorkflows(
  db: Db,
  { name: owner, workflows }: AppDefinition,
  { created, changed, removed }: WorkflowPlan,
  deploymentVersion: number,
): Promise<void> {
  const written = new Set([...created, ...changed]);
  if (written.size) {
    await db.query(sql`
      insert into waybill.workflow (name, owner, pool, input_schema, deployment_version)
      select d.name, ${owner}, d.pool, d.input_schema, ${deploymentVersion}
        from jsonb_to_recordset(${toRecords(workflows.filter(({ name }) => written.has(name)))}::jsonb) as d (name text, pool text, input_schema jsonb)
       order by d.name
          on conflict (name) do update
         set owner = excluded.owner, pool = excluded.pool, input_schema = excluded.input_schema, deployment_version = excluded.deployment_version,
             removed_at = null, updated_at = waybill.now()`);
  }
  if (!removed.length) return;
  await db.query(sql`
    update waybill.workflow set removed_at = waybill.now(), deployment_version = ${deploymentVersion}, updated_at = waybill.now()
     where owner = ${owner} and name = any(${removed}::text[]) and removed_at is null`);
}

function toRecords(workflows: WorkflowDefinition[]): string {
  return JSON.stringify(workflows.map(({ name, pool, inputSchema }) => ({ name, pool, input_schema: inputSchema })));
}
