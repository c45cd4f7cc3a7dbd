import { sql } from '../sql.ts';
import type { Invariant } from './invariant.ts';

/**
 * A step that says it is running belongs to an execution that has not ended: the transaction that ends an execution ends its steps. Reads the ten thousand executions that ended
 * last, and probes their steps.
 */
export const runningStepHasItsRun: Invariant = {
  name: 'a_running_step_belongs_to_an_unfinished_execution',
  kind: 'always',
  statement: sql`
    with ended as materialized (
      select id, state from waybill.execution where finished_at is not null order by finished_at desc limit 10000
    )
    select 'execution ' || e.id as subject, format('ended as %s, but its step %s is running', e.state, s.name) as detail
      from ended e join waybill.execution_step s on s.execution_id = e.id and s.state = 'running'
     order by e.id limit 100`,
};
