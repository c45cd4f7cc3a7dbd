import { sql } from '../sql.ts';
import type { Invariant } from './invariant.ts';

/**
 * A CHECK constraint says the same; this notices its absence. Reads what is unfinished and, per final state, the newest thousand: nothing
 * writes to an execution after its end, so what was right when it was new stays right.
 */
export const finishedIffFinal: Invariant = {
  name: 'an_execution_is_finished_if_and_only_if_its_state_is_final',
  kind: 'always',
  statement: sql`
    select 'execution ' || e.id as subject, format('state %s, finished_at %s', e.state, coalesce(e.finished_at::text, 'null')) as detail
      from (
        select id, state, finished_at from waybill.execution where state in ('waiting', 'pending', 'in_progress') and finished_at is not null
        union all
        select e.id, e.state, e.finished_at
          from unnest('{completed,completed_with_warnings,failed,cancelled,skipped}'::waybill.execution_state[]) final (state)
         cross join lateral (select x.id, x.state, x.finished_at from waybill.execution x
                              where x.state = final.state order by x.id desc limit 1000) e
         where e.finished_at is null
      ) e
     order by e.id limit 100`,
};
