import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';

/** Locks a manifest together with those that run after it, in the order of ids, so that no outcome waits in a circle: switching it on releases them. */
export async function lockWithChildren(db: Db, externalId: string): Promise<void> {
  await db.query(sql`
    select id from waybill.manifest
     where id in (select m.id from waybill.manifest m where m.external_id = ${externalId} and m.deleted_at is null
                  union
                  select d.child_id from waybill.manifest_dependency d join waybill.manifest p on p.id = d.parent_id
                   where p.external_id = ${externalId} and p.deleted_at is null)
     order by id for no key update`);
}
