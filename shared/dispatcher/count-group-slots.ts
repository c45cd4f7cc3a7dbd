import type { Db } from '../db/database.ts';
import { takesSlot } from '../db/queries/takes-slot.ts';
import { sql } from '../db/sql.ts';

export interface GroupSlots {
  id: number;
  priority: number;
  /** Null when the group has no limit. */
  free: number | null;
}

/** The free slots of locked groups. A group that is missing from the answer was disabled while the claim waited for it. */
export function countGroupSlots(db: Db, groupIds: number[]): Promise<GroupSlots[]> {
  return db.query<GroupSlots>(sql`
    select g.id, g.priority,
           case when g.max_active_jobs is not null then greatest(g.max_active_jobs - (
             select count(*) from waybill.execution e where e.group_id = g.id and ${takesSlot}), 0)
           end as free
      from waybill.manifest_group g
     where g.id = any(${groupIds}::bigint[]) and g.is_enabled
     order by g.id`);
}
