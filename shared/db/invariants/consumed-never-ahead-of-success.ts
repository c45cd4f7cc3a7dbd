import { sql } from '../sql.ts';
import type { Invariant } from './invariant.ts';

/**
 * A dependent that has consumed more successes than its parent had would sleep through the next ones. Reads all edges with their parents:
 * no index knows the ones that matter. That is a hash join, a few seconds for a million edges.
 */
export const consumedNeverAheadOfSuccess: Invariant = {
  name: 'a_dependent_never_consumes_more_successes_than_its_parent_had',
  kind: 'always',
  statement: sql`
    with ahead as materialized (
      select d.child_id, d.parent_id, d.consumed_success_count, p.success_count, p.external_id
        from waybill.manifest_dependency d join waybill.manifest p on p.id = d.parent_id
       where d.consumed_success_count > p.success_count
    )
    select 'edge ' || c.external_id || ' ← ' || a.external_id as subject,
           format('consumed %s of %s successes', a.consumed_success_count, a.success_count) as detail
      from ahead a join waybill.manifest c on c.id = a.child_id
     order by a.child_id, a.parent_id limit 100`,
};
