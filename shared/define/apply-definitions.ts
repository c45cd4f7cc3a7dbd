import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { ManifestId } from '../model/ids.ts';
import { markDue } from '../transitions/mark-due.ts';
import { reclaimGroups } from '../transitions/reclaim-groups.ts';
import { refuseCycles } from '../transitions/refuse-cycles.ts';
import { type RemovedManifest, removeManifests } from '../transitions/remove-manifests.ts';
import { findReleased } from './find-released.ts';
import { concernsEntries, moveEntries } from './move-entries.ts';
import { type Definitions, findTouched, type ManifestPlan, planManifests } from './plan-definitions.ts';
import { applyEdges, type EdgePlan } from './sync-edges.ts';
import { type GroupPlan, planGroups, writeGroups } from './sync-groups.ts';
import { type ChangedManifest, type CreatedManifest, changeManifests, createManifests } from './sync-manifests.ts';
import { replaceSteps } from './sync-steps.ts';

export interface AppliedDefinitions {
  groups: GroupPlan;
  created: CreatedManifest[];
  changed: ChangedManifest[];
  edges: EdgePlan;
  removed: RemovedManifest[];
}

/**
 * Makes the tables say what is declared, in the caller's transaction and under the graph lock: killed before its commit, nothing changed. It finds the differences first and
 * locks only rows that differ, in the order of all writers: groups, then every manifest concerned in one statement, then entries. What was true when the differences were
 * found is asked again by the statements that write.
 */
export async function applyDefinitions(db: Db, definitions: Definitions, deploymentVersion: number | null): Promise<AppliedDefinitions> {
  const { owner } = definitions;
  const groups = await planGroups(db, definitions);
  await writeGroups(db, groups);
  await reclaimGroups(
    db,
    definitions.groups.map(({ name }) => name),
  );
  await lockRetiring(db, definitions);
  const plan = await planManifests(db, definitions);
  const released = await lockConcerned(db, groups, plan);
  const created = await create(db, plan, owner, deploymentVersion);
  const changed = await change(db, plan, owner, deploymentVersion);
  const foreseen = new Set(plan.changed.filter(({ isSwitchedOn }) => isSwitchedOn).map(({ id }) => id));
  // Somebody disabled these between the comparison and the locks, and they have just been switched on again: their dependents were held for that moment.
  released.push(...(await release(db, idsOf(changed.filter(({ id, isSwitchedOn }) => isSwitchedOn && !foreseen.has(id))))));
  await writeSteps(db, plan, [...created, ...changed.filter(({ fields }) => fields.includes('steps'))]);
  await moveEntries(db, idsOf(changed.filter(concernsEntries)));
  await applyEdges(db, plan.edges);
  const removed = await removeManifests(db, idsOf(plan.undeclared), 'the manifest is no longer declared');
  const touched = findTouched({ edges: plan.edges, changed });
  if (touched.length) await refuseCycles(db, touched);
  await markDue(db, [...new Set([...idsOf(created), ...idsOf(changed), ...plan.edges.childIds, ...released])]);
  return { groups, created, changed, edges: plan.edges, removed };
}

/**
 * Takes hold of those that are on their way out, before anybody asks whether they exist: one that its last run deletes now is declared as a new one, and one that is
 * held here stays and is revived.
 */
async function lockRetiring(db: Db, { owner, manifests }: Definitions): Promise<void> {
  await db.query(sql`
    select id from waybill.manifest
     where owner = ${owner} and retiring_at is not null and deleted_at is null
       and external_id = any(${manifests.map(({ externalId }) => externalId)}::text[])
     order by id for no key update`);
}

/** Locks every manifest that will be written, and those that are released by it, which it gives. */
async function lockConcerned(db: Db, groups: GroupPlan, { changed, edges, undeclared }: ManifestPlan): Promise<ManifestId[]> {
  const enabled = groups.changed.filter(({ before, after }) => after.isEnabled && !before.isEnabled);
  const switchedOn = changed.filter(({ isSwitchedOn }) => isSwitchedOn);
  const released = await findReleased(db, { groupIds: enabled.map(({ id }) => id), parentIds: idsOf(switchedOn) });
  await lockManifests(db, [...idsOf(changed), ...edges.childIds, ...edges.newParentIds, ...idsOf(undeclared), ...released]);
  return released;
}

async function create(
  db: Db,
  { rows, created }: ManifestPlan,
  owner: string,
  deploymentVersion: number | null,
): Promise<CreatedManifest[]> {
  const missing = new Set(created);
  if (!missing.size) return [];
  return createManifests(
    db,
    owner,
    deploymentVersion,
    rows.filter(({ external_id }) => missing.has(external_id)),
  );
}

async function change(
  db: Db,
  { rows, changed }: ManifestPlan,
  owner: string,
  deploymentVersion: number | null,
): Promise<ChangedManifest[]> {
  const differing = new Set(changed.map(({ externalId }) => externalId));
  if (!differing.size) return [];
  return changeManifests(db, { owner, rows: rows.filter(({ external_id }) => differing.has(external_id)) }, deploymentVersion);
}

/** The steps of those that are new, or whose steps differ; jobs have none. */
async function writeSteps(db: Db, { rows }: ManifestPlan, manifests: CreatedManifest[]): Promise<void> {
  const ids = new Map(manifests.map(({ id, externalId }) => [externalId, id]));
  const plans = rows.flatMap(({ external_id, steps }) => (steps && ids.has(external_id) ? [{ id: ids.get(external_id)!, steps }] : []));
  await replaceSteps(db, plans);
}

async function release(db: Db, parentIds: ManifestId[]): Promise<ManifestId[]> {
  const released = await findReleased(db, { groupIds: [], parentIds });
  await lockManifests(db, released);
  return released;
}

async function lockManifests(db: Db, ids: ManifestId[]): Promise<void> {
  if (ids.length) await db.query(sql`select id from waybill.manifest where id = any(${ids}::bigint[]) order by id for no key update`);
}

function idsOf(manifests: { id: ManifestId }[]): ManifestId[] {
  return manifests.map(({ id }) => id);
}
