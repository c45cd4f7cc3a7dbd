import type { Db } from '../../db/database.ts';
import { sql } from '../../db/sql.ts';
import type { ExecutionId } from '../../model/ids.ts';

export interface PlansToLock {
  planIds: ExecutionId[];
  /** Executions that may be steps of plans. */
  stepIds: ExecutionId[];
}

/**
 * Takes hold of plans, before manifests and before their steps. Whoever ends a step, stops a plan or looks after one takes his turn here, and counts in the statements after it: two
 * who end the last two steps at the same time would otherwise each see one that is not over, and nobody would go on. Gives the plans, those of the steps included.
 */
export async function lockPlans(db: Db, { planIds, stepIds }: PlansToLock): Promise<ExecutionId[]> {
  if (!planIds.length && !stepIds.length) return [];
  const locked = await db.query<{ id: ExecutionId }>(sql`
    select plan.id from waybill.execution plan
     where plan.id in (select unnest(${planIds}::bigint[])
                       union
                       select step.parent_id from waybill.execution step where step.id = any(${stepIds}::bigint[]) and step.group_index is not null)
       and plan.group_count is not null
     order by plan.id for no key update`);
  return locked.map(({ id }) => id);
}
