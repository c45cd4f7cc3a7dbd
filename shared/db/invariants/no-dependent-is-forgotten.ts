import { sql } from '../sql.ts';
import { GRACE_SECONDS, type Invariant } from './invariant.ts';
import { isNotHeld } from './not-held.ts';

/** The edge `d` is met: its parent `p` may run and has succeeded since, and the success is old enough for everybody to have seen it. */
const isMet = sql`(
  p.success_count > d.consumed_success_count and p.is_enabled and p.deleted_at is null
  and coalesce(p.last_successful_run, p.created_at) < waybill.now() - make_interval(secs => ${GRACE_SECONDS}))`;

/**
 * The dependents that are ahead of their edges although nothing will look at them: their edges are met, nothing holds them, and they are not due. To be
 * continued with further conditions on the manifest `m`; the report and the repair judge by the same words.
 */
export const fromForgottenDependents = sql`
  from (select d.child_id, bool_and(${isMet}) as are_all_met
          from waybill.manifest_dependency d join waybill.manifest p on p.id = d.parent_id
         group by d.child_id having bool_or(${isMet})) ahead
  join waybill.manifest m on m.id = ahead.child_id
 where m.schedule_type = 'dependent' and m.next_due_at is null and (ahead.are_all_met or m.dependency_mode = 'any') and ${isNotHeld}`;

/**
 * A parent's success marks its dependents due in its own transaction, and so does whatever ends a hold: a lost trigger would show here.
 * Reads all edges with their parents, a hash join like the one over consumed successes, and looks closer at the few dependents that have one ahead.
 */
export const noDependentIsForgotten: Invariant = {
  name: 'no_dependent_is_ahead_of_its_edges_and_forgotten',
  kind: 'eventually',
  graceSeconds: GRACE_SECONDS,
  statement: sql`
    with forgotten as materialized (select m.id, m.external_id ${fromForgottenDependents})
    select 'manifest ' || f.external_id as subject, 'its parents have succeeded, nothing holds it, and it is not due' as detail
      from forgotten f
     order by f.id limit 100`,
};
