import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import { ConflictError, NotFoundError } from '../errors.ts';
import type { ManifestId } from '../model/ids.ts';
import type { ScheduleType } from '../model/manifest.ts';
import { isExternalId } from './paging.ts';

export interface LockedManifest {
  id: ManifestId;
  externalId: string;
  kind: 'job' | 'plan';
  scheduleType: ScheduleType;
  isEnabled: boolean;
  isRetiring: boolean;
  version: number;
}

/**
 * Takes hold of a manifest before anything is decided about it: whoever else decides waits, and what is read in the statements after this one is what the decision
 * is based on.
 */
export async function lockManifest(db: Db, externalId: string): Promise<LockedManifest> {
  const [manifest] = isExternalId(externalId)
    ? await db.query<LockedManifest>(sql`
        select id, external_id as "externalId", kind, schedule_type as "scheduleType", is_enabled as "isEnabled", retiring_at is not null as "isRetiring", version
          from waybill.manifest where external_id = ${externalId} and deleted_at is null
           for no key update`)
    : [];
  if (!manifest)
    throw new NotFoundError('manifest_not_found', `manifest '${externalId}' does not exist: GET /v1/manifests lists those that do`);
  return manifest;
}

/** The same, for what a manifest that is on its way out no longer takes. */
export async function lockRunnableManifest(db: Db, externalId: string): Promise<LockedManifest> {
  const manifest = await lockManifest(db, externalId);
  if (!manifest.isRetiring) return manifest;
  throw new ConflictError(
    'manifest_retiring',
    `manifest '${externalId}' is no longer declared and goes with its last run: declare it again first`,
  );
}

/** Takes hold of the manifests of rows that name them by id, in the order of ids. Rows without a manifest need none. */
export async function lockManifestsById(db: Db, ids: (ManifestId | null)[]): Promise<void> {
  const named = ids.filter((id) => id !== null);
  if (named.length) await db.query(sql`select id from waybill.manifest where id = any(${named}::bigint[]) order by id for no key update`);
}
