import { sql } from '../sql.ts';
import type { Invariant } from './invariant.ts';

/**
 * A dependent that has consumed more successes than its parent had would sleep through the next ones. Reads all edges with their parents: no
 * index knows the ones that matter, and a hash join over a million edges takes about a second an hour.
 */
export const consumedNeverAheadOfSuccess: Invariant = {
  name: 'a_dependent_never_consumes_more_successes_than_its_parent_had',
  kind: 'always',
  statement: sql`
    select 'edge ' || c.external_id || ' ← ' || p.external_id as subject,
           format('consumed %s of %s successes', d.consumed_success_count, p.success_count) as detail
      from waybill.manifest_dependency d
      join waybill.manifest p on p.id = d.parent_id
      join waybill.manifest c on c.id = d.child_id
     where d.consumed_success_count > p.success_count
     order by d.child_id, d.parent_id limit 100`,
};
