import { isOfRun } from '../queries/of-run.ts';
import { sql } from '../sql.ts';
import type { Invariant } from './invariant.ts';

/**
 * A run that failed is tried once more, not twice, as its next attempt, and only after the attempt before has ended. A unique index guards runs of
 * manifests; ad-hoc runs have only this. Reads the queued entries, and probes the runs of those that are retries.
 */
export const oneQueuedRetryPerRun: Invariant = {
  name: 'a_run_has_one_queued_retry_at_most_and_it_is_the_next_attempt',
  kind: 'always',
  statement: sql`
    select 'run ' || w.run_id as subject,
           format('queued attempts %s after attempt %s, which has%s ended', w.attempts, coalesce(e.attempt::text, 'none'),
                  case when e.is_unfinished then ' not' else '' end) as detail
      from (
        select run_id, count(*) as retry_count, max(attempt) as attempt, string_agg(attempt::text, ', ' order by id) as attempts
          from waybill.work_queue
         where status = 'queued' and lane = 'retry' and execution_id is null and run_id is not null
         group by run_id
      ) w
     cross join lateral (
       select max(x.attempt) as attempt, bool_or(x.finished_at is null) as is_unfinished
         from waybill.execution x where ${isOfRun(sql`x`, sql`w.run_id`)} and x.parent_id is null
     ) e
     where w.retry_count > 1 or (w.attempt > 1 and (e.attempt is distinct from w.attempt - 1 or e.is_unfinished))
     order by w.run_id limit 100`,
};
