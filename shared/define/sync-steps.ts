import type { Db } from '../db/database.ts';
import type { PlanStep } from '../db/queries/plan-steps.ts';
import { sql } from '../db/sql.ts';
import type { ManifestId } from '../model/ids.ts';
import type { PlanStepDefinition } from './definition.ts';

/** Steps with the defaults of what is not stated: nobody but code changes a step, so there is nothing else to keep. */
export function toSteps(groups: PlanStepDefinition[][]): PlanStep[][] {
  return groups.map((group) =>
    group.map((step) => ({
      name: step.name,
      workflow: step.workflow,
      input: step.input ?? null,
      group: step.group,
      pool: step.pool ?? null,
      continueOnFailure: step.continueOnFailure ?? false,
      timeoutSeconds: step.timeoutSeconds ?? null,
      maxAttempts: step.maxAttempts ?? 1,
      isEnabled: step.isEnabled ?? true,
    })),
  );
}

export interface DeclaredPlan {
  id: ManifestId;
  steps: PlanStep[][];
}

/**
 * Puts the declared steps of plans in the place of those they have, as a whole. The plans are locked or new, so whoever starts one takes either the old steps or the new ones; one that runs has
 * its own copies and goes on with them.
 */
export async function replaceSteps(db: Db, plans: DeclaredPlan[]): Promise<void> {
  if (!plans.length) return;
  await db.query(sql`delete from waybill.plan_step where plan_id = any(${plans.map(({ id }) => id)}::bigint[])`);
  await db.query(sql`
    insert into waybill.plan_step (plan_id, group_index, position, name, workflow_name, input, group_id, pool, continue_on_failure, timeout_seconds, max_attempts, is_enabled)
    select plan.id, step_group.place - 1, step.place - 1, step.value ->> 'name', step.value ->> 'workflow', step.value -> 'input', g.id, step.value ->> 'pool',
           (step.value ->> 'continueOnFailure')::boolean, (step.value ->> 'timeoutSeconds')::integer, (step.value ->> 'maxAttempts')::integer,
           (step.value ->> 'isEnabled')::boolean
      from jsonb_to_recordset(${JSON.stringify(plans)}::jsonb) as plan (id bigint, steps jsonb)
     cross join lateral jsonb_array_elements(plan.steps) with ordinality step_group (value, place)
     cross join lateral jsonb_array_elements(step_group.value) with ordinality step (value, place)
      join waybill.manifest_group g on g.name = step.value ->> 'group'
     order by plan.id, step_group.place, step.place`);
}
