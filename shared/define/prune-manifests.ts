import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { ManifestId } from '../model/ids.ts';

/**
 * Removes what the owner no longer declares: queued entries are cancelled with a reason, a manifest that runs right now retires (never
 * due or queued again, deleted by the transaction that ends its last run), the others are deleted. Gives their external ids.
 */
export async function pruneManifests(db: Db, owner: string, declared: string[]): Promise<string[]> {
  const gone = await db.query<{ id: ManifestId; externalId: string }>(sql`
    select id, external_id as "externalId" from waybill.manifest
     where owner = ${owner} and deleted_at is null and retiring_at is null and external_id <> all(${declared}::text[])
     order by id for no key update`);
  if (!gone.length) return [];
  const ids = gone.map(({ id }) => id);
  await db.query(sql`
    update waybill.work_queue set status = 'cancelled', cancelled_at = waybill.now(), cancel_reason = 'the manifest is no longer declared'
     where manifest_id = any(${ids}::bigint[]) and status = 'queued' and execution_id is null`);
  await db.query(sql`
    update waybill.manifest m
       set next_due_at = null, version = version + 1, updated_at = waybill.now(),
           retiring_at = case when live.is_live then waybill.now() end, deleted_at = case when not live.is_live then waybill.now() end
      from (select i.id, exists (select from waybill.execution e
                                  where e.manifest_id = i.id and e.parent_id is null and e.finished_at is null) as is_live
              from unnest(${ids}::bigint[]) i (id)) live
     where m.id = live.id`);
  return gone.map(({ externalId }) => externalId);
}
