import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { ManifestId } from '../model/ids.ts';

/**
 * Takes the queued entries of locked manifests along to the group that their manifest has now, where they wait for a slot like any other. What runs keeps the slot that was
 * counted for it. An entry that belongs to a part of a run, as the steps of a plan do, has a group of its own.
 */
export async function moveEntries(db: Db, manifestIds: ManifestId[]): Promise<void> {
  if (!manifestIds.length) return;
  await db.query(sql`
    with held as (
      select w.id, m.group_id
        from waybill.work_queue w join waybill.manifest m on m.id = w.manifest_id
       where w.manifest_id = any(${manifestIds}::bigint[]) and w.status = 'queued' and w.group_id <> m.group_id
         and not exists (select from waybill.execution e where e.id = w.execution_id and e.parent_id is not null)
       order by w.id for no key update of w
    )
    update waybill.work_queue w set group_id = held.group_id from held where w.id = held.id and w.status = 'queued'`);
}
