import { type Sql, sql } from '../sql.ts';

const STRIDE = 100;

/**
 * The edges that are part of a circle, as the table `circular (child_id, parent_id)` of a statement that begins with this. First all edges are climbed at once, as one set per depth: what is
 * still on its way after a hundred steps is on a circle, above one, or on a very long chain, and nearly always there is nothing. Only that is then followed one by one. Costs a pass over
 * the edges for each level that the graph has; a walk from every node would cost their square.
 */
export function cyclesAmong(edges: Sql): Sql {
  return sql`
    with recursive edge (child_id, parent_id) as materialized (
      ${edges}
    ), climb (id, depth) as (
      select parent_id, 1 from edge
      union
      select e.parent_id, c.depth + 1 from climb c join edge e on e.child_id = c.id where c.depth < ${STRIDE}
    ), ancestor (start_id, id) as (
      select c.id, e.parent_id from climb c join edge e on e.child_id = c.id where c.depth = ${STRIDE}
      union
      select a.start_id, e.parent_id from ancestor a join edge e on e.child_id = a.id
    ), circular as (
      select e.child_id, e.parent_id from edge e join ancestor a on a.start_id = e.parent_id and a.id = e.child_id
    )`;
}
