import type { Db } from '../db/database.ts';
import type { ManifestState } from '../db/queries/manifest-state.ts';
import { selectManifests } from '../db/queries/select-manifests.ts';
import { describeManifest, type ManifestDescription } from './describe-manifest.ts';
import { isExternalId, type Page, readCursor, writeCursor } from './paging.ts';

export interface ListManifests {
  group?: string;
  workflow?: string;
  state?: ManifestState;
  search?: string;
  limit: number;
  cursor?: string;
}

/** The manifests that match, by external id. */
export async function listManifests(db: Db, { cursor, limit, ...filter }: ListManifests): Promise<Page<ManifestDescription>> {
  const after = cursor === undefined ? undefined : readCursor('manifests', cursor, isExternalId);
  const { rows, hasMore } = await selectManifests(db, { ...filter, after, limit });
  const last = rows.at(-1);
  return { items: rows.map(describeManifest), nextCursor: hasMore && last ? writeCursor('manifests', last.external_id) : null };
}
