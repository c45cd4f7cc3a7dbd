import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { ManifestId } from '../model/ids.ts';
import { type ExpectedVersion, refuseStale } from '../model/refuse-stale.ts';
import { lockGraph } from '../transitions/refuse-cycles.ts';
import { removeManifests } from '../transitions/remove-manifests.ts';
import type { OperationContext } from './context.ts';
import { lockManifest } from './lock-manifest.ts';
import { recordAudit } from './record-audit.ts';

export interface RemovedManifest {
  /** `retiring`: it runs right now, is never due or queued again, and goes with its last run. */
  outcome: 'deleted' | 'retiring';
  /** Dependents that have no parent left, and so never run by themselves; at most a hundred. */
  orphaned: string[];
}

export interface RemoveOptions {
  /** Refuses the removal if the manifest has another version by now. */
  version?: ExpectedVersion;
}

/**
 * Removes a manifest, whoever declared it; a deployment whose app still declares it brings it back as a new one. What of it is queued is cancelled. It takes the turn of
 * writers of edges, so that nobody makes it a parent meanwhile.
 */
export async function removeManifest(
  context: OperationContext,
  externalId: string,
  { version }: RemoveOptions = {},
): Promise<RemovedManifest> {
  const { database, doorbell, initiator } = context;
  const removed = await database.transaction(async (db): Promise<RemovedManifest> => {
    await lockGraph(db);
    const manifest = await lockManifest(db, externalId);
    refuseStale(externalId, manifest.version, version);
    const orphaned = await findOrphans(db, manifest.id);
    if (manifest.isRetiring) return { outcome: 'retiring', orphaned };
    const [gone] = await removeManifests(db, [manifest.id], `removed by ${initiator.name ?? initiator.id ?? initiator.type}`);
    await recordAudit(db, initiator, {
      action: 'manifest.remove',
      targetType: 'manifest',
      target: externalId,
      after: { isRetiring: gone?.isRetiring },
    });
    return { outcome: gone?.isRetiring ? 'retiring' : 'deleted', orphaned };
  });
  await doorbell.pokeDispatcher();
  return removed;
}

function findOrphans(db: Db, parentId: ManifestId): Promise<string[]> {
  return db
    .query<{ externalId: string }>(sql`
      select c.external_id as "externalId" from waybill.manifest_dependency d join waybill.manifest c on c.id = d.child_id and c.deleted_at is null
       where d.parent_id = ${parentId}
         and not exists (select from waybill.manifest_dependency o join waybill.manifest p on p.id = o.parent_id and p.deleted_at is null
                          where o.child_id = c.id and o.parent_id <> ${parentId})
       order by c.external_id limit 100`)
    .then((children) => children.map(({ externalId }) => externalId));
}
