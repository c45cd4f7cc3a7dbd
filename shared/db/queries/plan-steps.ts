import { type Sql, sql } from '../sql.ts';

/** A step of a plan as it is compared and shown. */
export interface PlanStep {
  name: string;
  workflow: string;
  input: unknown;
  group: string;
  pool: string | null;
  continueOnFailure: boolean;
  timeoutSeconds: number | null;
  maxAttempts: number;
  isEnabled: boolean;
}

/** The steps of a plan by group, in the order in which they run, as {@link PlanStep}s; null when there are none. */
export const planSteps = (planId: Sql) => sql`(
  select jsonb_agg(step_group.steps order by step_group.group_index)
    from (select s.group_index,
                 jsonb_agg(jsonb_build_object(
                   'name', s.name, 'workflow', s.workflow_name, 'input', s.input, 'group', g.name, 'pool', s.pool, 'continueOnFailure', s.continue_on_failure,
                   'timeoutSeconds', s.timeout_seconds, 'maxAttempts', s.max_attempts, 'isEnabled', s.is_enabled) order by s.position) as steps
            from waybill.plan_step s join waybill.manifest_group g on g.id = s.group_id
           where s.plan_id = ${planId}
           group by s.group_index) step_group)`;
