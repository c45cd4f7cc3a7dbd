import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { ManifestId } from '../model/ids.ts';

export interface CarriedCounts {
  manifestId: ManifestId;
  /** The success count of each parent, by its id, that the run or entry was for. */
  counts: Record<string, number>;
}

/**
 * Notes for which successes of its parents a dependent has run. Counters and never clocks: what a parent achieved while the dependent was running is not
 * among the counts it carried, so the edge stays ahead and the dependent runs once more. Never backwards, whoever comes late.
 */
export async function consumeSuccesses(db: Db, carried: CarriedCounts[]): Promise<void> {
  const edges = carried.flatMap(({ manifestId, counts }) =>
    Object.entries(counts).map(([parentId, count]) => ({ child_id: manifestId, parent_id: Number(parentId), count })),
  );
  if (!edges.length) return;
  await db.query(sql`
    with carried as (
      select child_id, parent_id, max(count) as count
        from jsonb_to_recordset(${JSON.stringify(edges)}::jsonb) as c (child_id bigint, parent_id bigint, count bigint) group by 1, 2
    )
    update waybill.manifest_dependency d set consumed_success_count = c.count
      from carried c
     where d.child_id = c.child_id and d.parent_id = c.parent_id and d.consumed_success_count < c.count`);
}
