import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { ExecutionId } from '../model/ids.ts';
import type { PlanStop } from '../transitions/end-runs.ts';
import { isResting } from '../transitions/plans/read-resting-plans.ts';

const LIMIT = 100;

/** Plans that have run for longer than they may. One that was asked to stop has no deadline any more. Looks without locks; whoever stops them checks again. */
export async function findLatePlans(db: Db): Promise<PlanStop[]> {
  const late = await db.query<{ id: ExecutionId; timeoutSeconds: number | null }>(sql`
    select id, timeout_seconds as "timeoutSeconds" from waybill.execution
     where group_count is not null and finished_at is null and deadline_at <= waybill.now()
     order by deadline_at limit ${LIMIT}`);
  return late.map(({ id, timeoutSeconds }) => ({
    planId: id,
    failure: { code: 'timeout', message: `the plan ran longer than its timeout of ${timeoutSeconds} seconds` },
  }));
}

/**
 * The net under plans: the transaction that ends the last step of a group releases the next one or ends the plan, so this finds nothing unless somebody has changed rows by hand. Probes the
 * unfinished plans, of which every manifest has one at the most.
 */
export async function findRestingPlans(db: Db): Promise<ExecutionId[]> {
  const resting = await db.query<{ id: ExecutionId }>(sql`
    select plan.id from waybill.execution plan
     where plan.group_count is not null and plan.finished_at is null and ${isResting}
     limit ${LIMIT}`);
  return resting.map(({ id }) => id);
}
