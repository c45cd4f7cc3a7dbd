import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { ExecutionId, ManifestId } from '../model/ids.ts';
import type { Outcome } from './finish-executions.ts';

export interface LockedManifest {
  id: ManifestId;
  /** What the row says of itself is what it says now: the lock gives the latest version, only subqueries would be older. */
  nextDueAt: Date | null;
}

export interface ConcernedManifests {
  outcomes: Outcome[];
  /** Locked by the caller, so that the steps which are not over do not become fewer. */
  planIds: ExecutionId[];
  /** Those of them that are asked to stop. */
  stoppedPlanIds: ExecutionId[];
}

/**
 * Locks the manifests of runs that are about to end, own and children together in the order of their ids; the children of one that may succeed will be marked due. The end of a step
 * concerns the manifest of its plan only if it may be the end of the plan, and its dependents only if no other step is left.
 */
export async function lockConcerned(db: Db, { outcomes, planIds, stoppedPlanIds }: ConcernedManifests): Promise<LockedManifest[]> {
  const ids = outcomes.map(({ executionId }) => executionId);
  const succeeding = outcomes
    .filter(({ state }) => state === 'completed' || state === 'completed_with_warnings')
    .map(({ executionId }) => executionId);
  const { ending, succeedingPlans } = await readPlanManifests(db, { ids, planIds, stoppedPlanIds });
  return db.query<LockedManifest>(sql`
    select id, next_due_at as "nextDueAt" from waybill.manifest
     where id in (
       select manifest_id from waybill.execution where id = any(${ids}::bigint[]) and manifest_id is not null and parent_id is null
       ${ending.length ? sql`union all select unnest(${ending}::bigint[])` : sql``}
       union
       select d.child_id from waybill.manifest_dependency d
        where d.parent_id in (select manifest_id from waybill.execution where id = any(${succeeding}::bigint[]) and manifest_id is not null and parent_id is null
                              ${succeedingPlans.length ? sql`union all select unnest(${succeedingPlans}::bigint[])` : sql``}))
     order by id for no key update`);
}

interface PlanManifests {
  ending: ManifestId[];
  succeedingPlans: ManifestId[];
}

/** In a statement of its own: asked for all at once, the planner would rather read every manifest. The plans are locked, so what is true here stays true. */
async function readPlanManifests(
  db: Db,
  { ids, planIds, stoppedPlanIds }: { ids: ExecutionId[]; planIds: ExecutionId[]; stoppedPlanIds: ExecutionId[] },
): Promise<PlanManifests> {
  if (!planIds.length) return { ending: [], succeedingPlans: [] };
  const plans = await db.query<{ manifestId: ManifestId; mayEnd: boolean; maySucceed: boolean }>(sql`
    select plan.manifest_id as "manifestId", plan.id = any(${stoppedPlanIds}::bigint[]) or coalesce(rest.first_group_index > plan.current_group_index, true) as "mayEnd",
           rest.first_group_index is null as "maySucceed"
      from waybill.execution plan
     cross join lateral (
       select min(step.group_index) as first_group_index from waybill.execution step
        where step.parent_id = plan.id and step.group_index is not null and step.finished_at is null and step.id <> all(${ids}::bigint[])) rest
     where plan.id = any(${planIds}::bigint[]) and plan.manifest_id is not null`);
  const idsOf = (rows: typeof plans) => rows.map(({ manifestId }) => manifestId);
  return { ending: idsOf(plans.filter(({ mayEnd }) => mayEnd)), succeedingPlans: idsOf(plans.filter(({ maySucceed }) => maySucceed)) };
}
