import type { Database, Db } from '../db/database.ts';
import { readNow } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import { WaybillError } from '../errors.ts';
import type { ManifestId } from '../model/ids.ts';
import { markDue } from '../transitions/mark-due.ts';
import { lockGraph, refuseCycles } from '../transitions/refuse-cycles.ts';
import type { AppDefinition } from './definition.ts';
import { findReleased } from './find-released.ts';
import { findUndeclared, pruneManifests } from './prune-manifests.ts';
import { applyEdges, diffEdges } from './sync-edges.ts';
import { syncGroups, syncWorkflows } from './sync-groups.ts';
import { changeManifests, createManifests, findChangedManifests, toRows } from './sync-manifests.ts';

/** What a sync did, by external id. */
export interface SyncReport {
  deploymentVersion: number;
  created: string[];
  changed: string[];
  unchangedCount: number;
  pruned: string[];
}

/**
 * Makes the database say what the app declares, in one transaction: killed before its commit, nothing changed. Code wins only for what it states, so an
 * operator's switch survives a deployment; it finds the differences first and locks only rows that differ, all in one statement; what this owner no longer
 * declares is pruned, and nothing is pruned by an app that declares nothing.
 */
export function syncApp(database: Database, definition: AppDefinition, definitionHash: string): Promise<SyncReport> {
  const { name: owner, manifests } = definition;
  return database.transaction(async (db) => {
    await lockGraph(db);
    const deploymentVersion = await recordDeployment(db, owner, definitionHash);
    await refuseForeignIds(db, definition);
    const enabledGroupIds = await syncGroups(db, definition.groups);
    await syncWorkflows(db, definition, deploymentVersion);
    await lockRetiring(db, owner);
    const rows = toRows(manifests, await readNow(db));
    const created = await createManifests(db, owner, deploymentVersion, rows);
    const differing = await findChangedManifests(db, owner, rows);
    const edges = await diffEdges(db, owner, manifests);
    const undeclared = manifests.length
      ? await findUndeclared(
          db,
          owner,
          manifests.map(({ externalId }) => externalId),
        )
      : [];
    const disabled = differing.filter(({ isDisabled }) => isDisabled).map(({ id }) => id);
    const released = await findReleased(db, { groupIds: enabledGroupIds, parentIds: disabled });
    const locked = new Set([...differing.map(({ id }) => id), ...edges.childIds, ...edges.newParentIds, ...undeclared, ...released]);
    await lockManifests(db, [...locked]);
    const changed = await changeManifests(db, owner, deploymentVersion, rows);
    released.push(
      ...(await releaseUnforeseen(
        db,
        changed.map(({ id }) => id).filter((id) => !locked.has(id)),
      )),
    );
    await applyEdges(db, edges);
    const pruned = await pruneManifests(db, undeclared);
    if (created.length || changed.length || edges.childIds.length) await refuseCycles(db);
    await markDue(db, [...new Set([...created.map(({ id }) => id), ...changed.map(({ id }) => id), ...edges.childIds, ...released])]);
    const report = { deploymentVersion, ...summarize(created, [...changed, ...edges.children], pruned, manifests.length) };
    await db.query(sql`
      update waybill.deployment set applied_at = waybill.now(), summary = ${JSON.stringify(report)}::jsonb where version = ${deploymentVersion}`);
    return report;
  });
}

function summarize(created: { externalId: string }[], touched: { externalId: string }[], pruned: string[], count: number) {
  const createdIds = created.map(({ externalId }) => externalId);
  const changedIds = [...new Set(touched.map(({ externalId }) => externalId))].filter((id) => !createdIds.includes(id)).sort();
  return { created: createdIds, changed: changedIds, unchangedCount: count - createdIds.length - changedIds.length, pruned };
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

/**
 * Takes hold of those that are on their way out, before anybody asks whether they exist: one that its last run deletes now is declared as a new one, and one
 * that is held here stays and is revived.
 */
async function lockRetiring(db: Db, owner: string): Promise<void> {
  await db.query(sql`
    select id from waybill.manifest where owner = ${owner} and retiring_at is not null and deleted_at is null order by id for no key update`);
}

/** Somebody changed these between the comparison and the locks, and the deployment has just changed them back; they may have been disabled for that moment. */
async function releaseUnforeseen(db: Db, parentIds: ManifestId[]): Promise<ManifestId[]> {
  const released = await findReleased(db, { groupIds: [], parentIds });
  await lockManifests(db, released);
  return released;
}

async function lockManifests(db: Db, ids: ManifestId[]): Promise<void> {
  if (ids.length) await db.query(sql`select id from waybill.manifest where id = any(${ids}::bigint[]) order by id for no key update`);
}
