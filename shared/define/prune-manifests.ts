import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { ManifestId } from '../model/ids.ts';
import { cancelEntries } from '../transitions/cancel-entries.ts';

/** What the owner no longer declares. */
export async function findUndeclared(db: Db, owner: string, declared: string[]): Promise<ManifestId[]> {
  const gone = await db.query<{ id: ManifestId }>(sql`
    select m.id from waybill.manifest m
     where m.owner = ${owner} and m.deleted_at is null and m.retiring_at is null
       and not exists (select from unnest(${declared}::text[]) d (external_id) where d.external_id = m.external_id)`);
  return gone.map(({ id }) => id);
}

/**
 * Removes manifests that the caller has locked: queued entries are cancelled with a reason, one that runs right now retires (never due or queued again, deleted
 * by the transaction that ends its last run), the others are deleted. Gives their external ids.
 */
export async function pruneManifests(db: Db, ids: ManifestId[]): Promise<string[]> {
  if (!ids.length) return [];
  await cancelEntries(db, { manifestIds: ids }, 'the manifest is no longer declared');
  const gone = await db.query<{ externalId: string }>(sql`
    update waybill.manifest m
       set next_due_at = null, version = version + 1, updated_at = waybill.now(),
           retiring_at = case when live.is_live then waybill.now() end, deleted_at = case when not live.is_live then waybill.now() end
      from (select i.id, exists (select from waybill.execution e
                                  where e.manifest_id = i.id and e.manifest_id is not null and e.parent_id is null and e.finished_at is null) as is_live
              from unnest(${ids}::bigint[]) i (id)) live
     where m.id = live.id and m.deleted_at is null
    returning m.external_id as "externalId"`);
  return gone.map(({ externalId }) => externalId).sort();
}
