import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';

/**
 * Takes groups back into use that housekeeping has found orphaned, so that it does not remove them for what they were before. To be called by whoever lets something new name a group, under
 * the graph lock or while it holds the group's row: housekeeping marks no group under either.
 */
export async function reclaimGroups(db: Db, names: string[]): Promise<void> {
  await db.query(sql`
    with held as (
      select id from waybill.manifest_group where orphaned_at is not null and name = any(${names}::text[]) order by id for no key update
    )
    update waybill.manifest_group g set orphaned_at = null from held where g.id = held.id`);
}
