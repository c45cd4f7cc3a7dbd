import { sql } from '../sql.ts';
import type { Invariant } from './invariant.ts';

/**
 * A CHECK constraint says the same; this notices its absence. Reads what is unfinished by its state, what is unfinished by its end and so blocks its
 * manifest, and, for those without a manifest, the newest ten thousand of all.
 */
export const finishedIffFinal: Invariant = {
  name: 'an_execution_is_finished_if_and_only_if_its_state_is_final',
  kind: 'always',
  statement: sql`
    with looked_at as materialized (
      select id, state, finished_at from waybill.execution where state in ('waiting', 'pending', 'in_progress')
      union
      select id, state, finished_at from waybill.execution where parent_id is null and finished_at is null and manifest_id is not null
      union
      (select id, state, finished_at from waybill.execution order by id desc limit 10000)
    )
    select 'execution ' || e.id as subject, format('state %s, finished_at %s', e.state, coalesce(e.finished_at::text, 'null')) as detail
      from looked_at e
     where (e.finished_at is null) <> (e.state in ('waiting', 'pending', 'in_progress'))
     order by e.id limit 100`,
};
