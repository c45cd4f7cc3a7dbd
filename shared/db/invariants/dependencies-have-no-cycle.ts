import { sql } from '../sql.ts';
import type { Invariant } from './invariant.ts';

const STRIDE = 100;

/**
 * Manifests that wait for each other wait for ever; deleted ones wait for nothing. First all edges are climbed at once, as one set per depth: what is
 * still on its way after a hundred steps is on a cycle, above one, or on a very long chain, and nearly always there is nothing. Only that is then
 * followed manifest by manifest. Costs a pass over the edges for each level that the graph has; a walk from every manifest would cost their square.
 */
export const dependenciesHaveNoCycle: Invariant = {
  name: 'dependencies_have_no_cycle',
  kind: 'always',
  statement: sql`
    with recursive edge as materialized (
      select d.child_id, d.parent_id
        from waybill.manifest_dependency d join waybill.manifest p on p.id = d.parent_id and p.deleted_at is null
    ), climb (id, depth) as (
      select parent_id, 1 from edge
      union
      select e.parent_id, c.depth + 1 from climb c join edge e on e.child_id = c.id where c.depth < ${STRIDE}
    ), ancestor (start_id, id) as (
      select c.id, e.parent_id from climb c join edge e on e.child_id = c.id where c.depth = ${STRIDE}
      union
      select a.start_id, e.parent_id from ancestor a join edge e on e.child_id = a.id
    )
    select 'manifest ' || m.external_id as subject,
           'waits for itself through ' || string_agg(distinct p.external_id, ', ' order by p.external_id) as detail
      from edge e
      join ancestor a on a.start_id = e.parent_id and a.id = e.child_id
      join waybill.manifest m on m.id = e.child_id
      join waybill.manifest p on p.id = e.parent_id
     group by m.id, m.external_id
     order by m.id limit 100`,
};
