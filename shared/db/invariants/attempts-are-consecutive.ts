import { isOfRun } from '../queries/of-run.ts';
import { sql } from '../sql.ts';
import type { Invariant } from './invariant.ts';

/**
 * The attempts of a run are numbered from one without a gap or a double: a double would be the same work done twice under one idempotency key.
 * Plans are left out, because resuming one is not another attempt. Reads what is unfinished beyond its first attempt, with its run.
 */
export const attemptsAreConsecutive: Invariant = {
  name: 'the_attempts_of_a_run_are_consecutive',
  kind: 'always',
  statement: sql`
    select 'run ' || r.run_id as subject, 'attempts ' || string_agg(a.attempt::text, ', ' order by a.id) as detail
      from (
        select distinct run_id from waybill.execution
         where state in ('waiting', 'pending', 'in_progress') and parent_id is null and group_count is null and (attempt > 1 or run_id <> id)
      ) r
      join waybill.execution a on ${isOfRun(sql`a`, sql`r.run_id`)} and a.parent_id is null
     group by r.run_id having max(a.attempt) <> count(*) or count(distinct a.attempt) <> count(*)
     order by r.run_id limit 100`,
};
