import type { Db } from '../db/database.ts';
import { selectManifests } from '../db/queries/select-manifests.ts';
import { describeManifest, type ManifestDescription } from './describe-manifest.ts';
import { isExternalId } from './paging.ts';

/** The manifest of this name, or undefined when there is none (any more). */
export async function readManifest(db: Db, externalId: string): Promise<ManifestDescription | undefined> {
  if (!isExternalId(externalId)) return undefined;
  const { rows } = await selectManifests(db, { externalId, limit: 1 });
  return rows[0] && describeManifest(rows[0]);
}
