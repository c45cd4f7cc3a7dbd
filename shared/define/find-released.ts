import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { ManifestId } from '../model/ids.ts';

/**
 * Whom a deployment releases by switching on something else: what a group holds, and the dependents of a disabled parent. Also those that are due right now:
 * a manager may be about to hold them for what it read before the switch.
 */
export async function findReleased(
  db: Db,
  { groupIds, parentIds }: { groupIds: number[]; parentIds: ManifestId[] },
): Promise<ManifestId[]> {
  if (!groupIds.length && !parentIds.length) return [];
  const released = await db.query<{ id: ManifestId }>(sql`
    select m.id from waybill.manifest m
     where m.group_id = any(${groupIds}::bigint[]) and m.deleted_at is null and m.schedule_type in ('dependent', 'once')
    union
    select c.id from waybill.manifest_dependency d
      join waybill.manifest c on c.id = d.child_id and c.deleted_at is null and c.schedule_type = 'dependent'
     where d.parent_id = any(${parentIds}::bigint[])`);
  return released.map(({ id }) => id);
}
