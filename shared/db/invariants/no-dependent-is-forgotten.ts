import { sql } from '../sql.ts';
import { GRACE_SECONDS, type Invariant } from './invariant.ts';
import { isNotHeld } from './not-held.ts';

/** The edge `d` is met: its parent `p` may run and has succeeded since, and the success is old enough for everybody to have seen it. */
const isMet = sql`(
  p.success_count > d.consumed_success_count and p.is_enabled and p.deleted_at is null
  and coalesce(p.last_successful_run, p.created_at) < waybill.now() - make_interval(secs => ${GRACE_SECONDS}))`;

/**
 * True of a manifest `m` that is ahead of its edges although nothing will look at it: its edges are met, nothing holds it, and it is not due.
 * The repair judges by the same words as the report.
 */
export const isForgottenDependent = sql`(
  m.schedule_type = 'dependent' and m.next_due_at is null
  and m.id in (select d.child_id from waybill.manifest_dependency d join waybill.manifest p on p.id = d.parent_id where ${isMet})
  and (m.dependency_mode = 'any' or not exists (
        select from waybill.manifest_dependency d join waybill.manifest p on p.id = d.parent_id where d.child_id = m.id and not ${isMet}))
  and ${isNotHeld})`;

/**
 * A parent's success marks its dependents due in its own transaction, and so does whatever ends a hold: a lost trigger would show here.
 * Reads all edges with their parents, and looks closer at the few dependents that have one ahead.
 */
export const noDependentIsForgotten: Invariant = {
  name: 'no_dependent_is_ahead_of_its_edges_and_forgotten',
  kind: 'eventually',
  graceSeconds: GRACE_SECONDS,
  statement: sql`
    select 'manifest ' || m.external_id as subject, 'its parents have succeeded, nothing holds it, and it is not due' as detail
      from waybill.manifest m
     where ${isForgottenDependent}
     order by m.id limit 100`,
};
