import type { Db } from '../db/database.ts';
import { metricGroup } from '../db/queries/metric-group.ts';
import { takesSlot } from '../db/queries/takes-slot.ts';
import { sql } from '../db/sql.ts';

export interface CapacityInUse {
  metricGroup: string;
  liveCount: number;
  maxActiveJobs: number | null;
}

/** How many slots are taken, per measured group: it reads what is live, through the index that admission counts by. */
export function measureCapacityInUse(db: Db): Promise<CapacityInUse[]> {
  return db.query<CapacityInUse>(sql`
    with live as (
      select e.group_id, count(*) as live_count from waybill.execution e
       where ${takesSlot} and e.group_id is not null
       group by e.group_id
    )
    select ${metricGroup} as "metricGroup", sum(l.live_count)::int as "liveCount",
           case when count(*) = 1 then max(g.max_active_jobs) end as "maxActiveJobs"
      from live l join waybill.manifest_group g on g.id = l.group_id
     group by 1 order by 1 limit 31`);
}
