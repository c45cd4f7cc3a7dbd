import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { ManifestId } from '../model/ids.ts';
import { cancelEntries } from './cancel-entries.ts';

export interface RemovedManifest {
  externalId: string;
  /** It runs right now, and goes with that run. */
  isRetiring: boolean;
}

/**
 * Removes manifests that the caller has locked: queued entries are cancelled with the reason, one that runs right now retires (never due or queued again, deleted by the
 * transaction that ends its last run), the others are deleted. One that is missing from the answer was removed before.
 */
export async function removeManifests(db: Db, ids: ManifestId[], reason: string): Promise<RemovedManifest[]> {
  if (!ids.length) return [];
  await cancelEntries(db, { manifestIds: ids }, reason);
  return db.query<RemovedManifest>(sql`
    update waybill.manifest m
       set next_due_at = null, version = version + 1, updated_at = waybill.now(),
           retiring_at = case when live.is_live then waybill.now() end, deleted_at = case when not live.is_live then waybill.now() end
      from (select i.id, exists (select from waybill.execution e
                                  where e.manifest_id = i.id and e.manifest_id is not null and e.parent_id is null and e.finished_at is null) as is_live
              from unnest(${ids}::bigint[]) i (id)) live
     where m.id = live.id and m.deleted_at is null and m.retiring_at is null
    returning m.external_id as "externalId", m.retiring_at is not null as "isRetiring"`);
}
