import type { Db } from '../db/database.ts';
import { type Sql, sql } from '../db/sql.ts';
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
export function lockConcerned(db: Db, { outcomes, planIds, stoppedPlanIds }: ConcernedManifests): Promise<LockedManifest[]> {
  const ids = outcomes.map(({ executionId }) => executionId);
  const succeeding = outcomes
    .filter(({ state }) => state === 'completed' || state === 'completed_with_warnings')
    .map(({ executionId }) => executionId);
  const isLeft = sql`step.parent_id = plan.id and step.group_index is not null and step.finished_at is null and step.id <> all(${ids}::bigint[])`;
  const plansThatEnd = sql`
    select plan.manifest_id from waybill.execution plan
     where plan.id = any(${planIds}::bigint[])
       and (plan.id = any(${stoppedPlanIds}::bigint[])
            or not exists (select from waybill.execution step where ${isLeft} and step.group_index <= plan.current_group_index))`;
  const plansThatSucceed = sql`
    select plan.manifest_id from waybill.execution plan
     where plan.id = any(${planIds}::bigint[]) and not exists (select from waybill.execution step where ${isLeft})`;
  const orPlans = (plans: Sql): Sql => (planIds.length ? sql`union all ${plans}` : sql``);
  return db.query<LockedManifest>(sql`
    select id, next_due_at as "nextDueAt" from waybill.manifest
     where id in (
       select manifest_id from waybill.execution where id = any(${ids}::bigint[]) and manifest_id is not null and parent_id is null
       ${orPlans(plansThatEnd)}
       union
       select d.child_id from waybill.manifest_dependency d
        where d.parent_id in (select manifest_id from waybill.execution where id = any(${succeeding}::bigint[]) and manifest_id is not null and parent_id is null
                              ${orPlans(plansThatSucceed)}))
     order by id for no key update`);
}
