import type { Database, Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import { ConflictError, InvalidInputError } from '../errors.ts';
import { recordAudits } from '../transitions/record-audits.ts';
import { lockGraph } from '../transitions/refuse-cycles.ts';
import { applyDefinitions } from './apply-definitions.ts';
import type { AppDefinition } from './definition.ts';
import { planDefinitions } from './plan-definitions.ts';
import { auditDefinitions, auditWorkflows } from './sync-audit.ts';
import { findLaterDeployment, recordApplied, startDeployment } from './sync-deployment.ts';
import { reportApplied, reportPlanned, reportSuperseded, type SyncReport } from './sync-report.ts';
import { planWorkflows, writeWorkflows } from './sync-workflows.ts';

export type { SyncReport } from './sync-report.ts';

/** Owns what is declared at run time; no deployment prunes it, and no app may be called so. */
export const RUNTIME_OWNER = 'runtime';

export interface SyncOptions {
  /** The version that was handed out when the deployment began; without one it begins now. */
  deploymentVersion?: number;
}

/**
 * Makes the database say what the app declares, in one transaction: killed before its commit, nothing changed, and repeated after it, nothing is left to change. Code wins
 * only for what it states, so an operator's switch survives a deployment; what this owner no longer declares is pruned, and nothing is pruned by an app
 * that declares nothing. A deployment that began before one that has been applied leaves everything as it is.
 */
export async function syncApp(
  database: Database,
  definition: AppDefinition,
  definitionHash: string,
  options: SyncOptions = {},
): Promise<SyncReport> {
  const { name: owner, manifests, groups } = definition;
  refuseReservedName(owner);
  const version = options.deploymentVersion ?? (await startDeployment(database, owner, definitionHash));
  return database.transaction(async (db) => {
    await lockGraph(db);
    if ((await findLaterDeployment(db, owner, version)) !== undefined) return reportSuperseded(version);
    await refuseForeignManifests(db, definition);
    await refuseChangedKinds(db, definition);
    const workflows = await planWorkflows(db, definition);
    await writeWorkflows(db, definition, workflows, version);
    const applied = await applyDefinitions(db, { owner, groups, manifests, isComplete: true }, version);
    await recordAudits(db, { type: 'deployment', id: String(version), name: owner }, [
      ...auditWorkflows(workflows),
      ...auditDefinitions(applied, manifests),
    ]);
    const report = reportApplied(version, definition, workflows, applied);
    await recordApplied(db, version, report);
    return report;
  });
}

/** What {@link syncApp} would do now. It reads, and neither writes nor locks. */
export function planSync(database: Database, definition: AppDefinition): Promise<SyncReport> {
  const { name: owner, manifests, groups } = definition;
  refuseReservedName(owner);
  return database.transaction(async (db) => {
    await refuseForeignManifests(db, definition);
    await refuseChangedKinds(db, definition);
    const workflows = await planWorkflows(db, definition);
    return reportPlanned(definition, workflows, await planDefinitions(db, { owner, groups, manifests, isComplete: true }));
  });
}

function refuseReservedName(owner: string): void {
  if (owner === RUNTIME_OWNER)
    throw new InvalidInputError('reserved_name', `app name '${owner}' is taken by what is declared at run time: choose another`);
}

/** An id that another owner declares is not taken over: one of the two has to choose another. */
async function refuseForeignManifests(db: Db, { name, manifests }: AppDefinition): Promise<void> {
  const foreign = await db.query<{ externalId: string; owner: string }>(sql`
    select external_id as "externalId", owner from waybill.manifest
     where external_id = any(${manifests.map(({ externalId }) => externalId)}::text[]) and deleted_at is null and owner <> ${name}
     order by external_id limit 20`);
  if (!foreign.length) return;
  const list = foreign.map(({ externalId, owner }) => `'${externalId}' belongs to '${owner}'`).join(', ');
  throw new ConflictError(
    'foreign_manifest',
    `app '${name}' declares manifests of another owner: ${list}. Choose other ids, or remove them there first`,
  );
}

/** What is queued for a job names its workflow, what is queued for a plan does not: neither can become the other while it is there. */
async function refuseChangedKinds(db: Db, { name, manifests }: AppDefinition): Promise<void> {
  const kinds = manifests.map(({ steps }) => (steps ? 'plan' : 'job'));
  const changed = await db.query<{ externalId: string; kind: string }>(sql`
    select m.external_id as "externalId", m.kind
      from unnest(${manifests.map(({ externalId }) => externalId)}::text[], ${kinds}::waybill.manifest_kind[]) d (external_id, kind)
     cross join lateral (
       select * from waybill.manifest m where m.external_id = d.external_id and m.deleted_at is null and m.owner = ${name} offset 0) m
     where m.kind <> d.kind
     order by m.external_id limit 20`);
  if (!changed.length) return;
  const list = changed.map(({ externalId, kind }) => `'${externalId}' is a ${kind}`).join(', ');
  throw new ConflictError(
    'kind_changed',
    `app '${name}' declares manifests as what they are not: ${list}. Choose other ids, or deploy once without them first`,
  );
}
