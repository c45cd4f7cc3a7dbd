import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { ManifestId } from '../model/ids.ts';

export interface UndeclaredManifest {
  id: ManifestId;
  externalId: string;
  /** It runs right now, so it will not be deleted before its run ends. */
  isLive: boolean;
}

/** What the owner no longer declares. */
export function findUndeclared(db: Db, owner: string, declared: string[]): Promise<UndeclaredManifest[]> {
  return db.query<UndeclaredManifest>(sql`
    select m.id, m.external_id as "externalId",
           exists (select from waybill.execution e
                    where e.manifest_id = m.id and e.manifest_id is not null and e.parent_id is null and e.finished_at is null) as "isLive"
      from waybill.manifest m
     where m.owner = ${owner} and m.deleted_at is null and m.retiring_at is null
       and not exists (select from unnest(${declared}::text[]) d (external_id) where d.external_id = m.external_id)
     order by m.external_id`);
}
