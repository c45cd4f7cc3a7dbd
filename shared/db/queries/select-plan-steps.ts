import type { Db } from '../database.ts';
import { sql } from '../sql.ts';
import { type PlanStep, planSteps } from './plan-steps.ts';

/** The steps of a plan by group; none when it is gone meanwhile. A plan has at most as many as its definition allows, so there is no page. */
export async function selectPlanSteps(db: Db, externalId: string): Promise<PlanStep[][]> {
  const [plan] = await db.query<{ steps: PlanStep[][] | null }>(sql`
    select ${planSteps(sql`m.id`)} as steps from waybill.manifest m where m.external_id = ${externalId} and m.deleted_at is null limit 1`);
  return plan?.steps ?? [];
}
