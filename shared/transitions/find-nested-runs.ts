import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { ExecutionId } from '../model/ids.ts';

export interface NestedRun {
  id: ExecutionId;
  /** What the execution of which it was asked for, the outermost, is. */
  outerState: string;
  isUnfinished: boolean;
}

/**
 * The runs that are nested in executions, however deep, ended ones too. Whoever holds the executions holds these too: nobody begins or ends one without their lease.
 *
 * In a statement of its own, each level probed by its parents: joined with what is then written, the planner would rather read every execution there is.
 */
export function findNestedRuns(db: Db, executionIds: ExecutionId[]): Promise<NestedRun[]> {
  return db.query<NestedRun>(sql`
    with recursive nested (id, is_unfinished, outer_state) as (
      select o.id, null::boolean, o.state from waybill.execution o where o.id = any(${executionIds}::bigint[])
      union all
      select c.id, c.is_unfinished, n.outer_state
        from nested n
       cross join lateral (
         select e.id, e.finished_at is null as is_unfinished from waybill.execution e where e.parent_id = n.id and e.group_index is null offset 0) c
    )
    select id, outer_state as "outerState", is_unfinished as "isUnfinished" from nested where is_unfinished is not null order by id`);
}
