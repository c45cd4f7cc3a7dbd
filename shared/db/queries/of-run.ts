import { type Sql, sql } from '../sql.ts';

/** Whether the execution `e` belongs to a run. The first attempt is the run's namesake; only the others are in the index of runs. */
export function isOfRun(e: Sql, runId: Sql): Sql {
  return sql`(${e}.id = ${runId} or (${e}.run_id = ${runId} and ${e}.run_id <> ${e}.id))`;
}

/** How many attempts the run of the execution `e` had at first: each retry of its dead letter adds to the limit of the executions after it. */
export const firstLimit: Sql = sql`(select f.max_attempts from waybill.execution f where f.id = e.run_id)`;

/** Whether the execution `e` is in the tree of a root, the root included; only the others are in the index of trees. */
export function isInTree(e: Sql, rootId: Sql): Sql {
  return sql`(${e}.id = ${rootId} or (${e}.root_id = ${rootId} and ${e}.root_id <> ${e}.id))`;
}
