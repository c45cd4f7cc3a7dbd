import { type Sql, sql } from '../sql.ts';

/**
 * Where the work of an entry runs: in the pool that it states, else in its workflow's, else in the default one. Resolved at every look and at every ring, so that work follows its workflow
 * to another pool; whatever is queued in its place must therefore state what this one stated, and not where it ran.
 */
export const resolvedPool = (entry: Sql): Sql =>
  sql`coalesce(${entry}.pool, (select f.pool from waybill.workflow f where f.name = ${entry}.workflow_name), 'default')`;

/** The pool that the entry of the execution `e` stated, null if it left that to the workflow. A plan's step has it from its definition. */
export const entryPool: Sql = sql`(select entry.pool from waybill.work_queue entry where entry.id = e.work_queue_id)`;

/** The pool to state for a further run in place of the execution `e`: what its manifest `m` states by now, or, without one, what its entry did. */
export const statedPool: Sql = sql`case when e.manifest_id is null then ${entryPool} else m.pool end`;
