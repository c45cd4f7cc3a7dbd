import { sql } from '../sql.ts';
import { type Invariant, LONGEST_TRANSACTION_SECONDS } from './invariant.ts';

/**
 * A dormant dependent runs because a running parent activated it or a person asked; no schedule, edge or backfill queues it. One that became
 * dormant may still have what was queued before, so only what is younger than its definition counts.
 * Reads queued entries and unfinished executions, and probes their manifests.
 */
export const dormantRunsOnlyOnRequest: Invariant = {
  name: 'a_dormant_dependent_runs_only_when_it_is_activated_or_asked_for',
  kind: 'always',
  statement: sql`
    select r.subject, format('dormant manifest %s, queued by origin %s', m.external_id, r.origin) as detail
      from (
        select 'execution ' || e.id as subject, e.manifest_id, e.origin, e.created_at
          from waybill.execution e where e.state in ('waiting', 'pending', 'in_progress') and e.parent_id is null
        union all
        select 'entry ' || w.id, w.manifest_id, w.origin, w.created_at
          from waybill.work_queue w where w.status = 'queued' and w.execution_id is null
      ) r
      join waybill.manifest m on m.id = r.manifest_id
     where m.schedule_type = 'dormant_dependent' and r.origin not in ('activation', 'retry', 'dead_letter', 'manual')
       and (m.updated_at = m.created_at or r.created_at > m.updated_at + make_interval(secs => ${LONGEST_TRANSACTION_SECONDS}))
     order by r.subject limit 100`,
};
