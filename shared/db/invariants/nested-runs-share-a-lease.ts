import { sql } from '../sql.ts';
import type { Invariant } from './invariant.ts';

/**
 * A nested run is in progress only while its parent is, under the same lease, and unfinished only while its parent is: whoever ends, hands back or recovers an execution takes along
 * what is nested in it, in the same transaction. One that was left behind would have a lease that never expires, and nobody to end it. Reads what is unfinished and
 * probes the parents.
 */
export const nestedRunsShareALease: Invariant = {
  name: 'a_nested_run_ends_waits_and_runs_with_its_parent',
  kind: 'always',
  statement: sql`
    with nested as materialized (
      select id, parent_id, state, lease_token from waybill.execution
       where state in ('waiting', 'pending', 'in_progress') and parent_id is not null and group_index is null
    )
    select 'execution ' || n.id as subject,
           format('%s, but execution %s around it is %s%s', n.state, n.parent_id, coalesce(p.state::text, 'missing'),
                  case when p.state = n.state then ' under another lease' else '' end) as detail
      from nested n left join waybill.execution p on p.id = n.parent_id
     where case n.state when 'in_progress' then p.state is distinct from 'in_progress' or p.lease_token is distinct from n.lease_token
                        when 'waiting' then p.finished_at is not null or p.id is null
                        else true end
     order by n.id limit 100`,
};
