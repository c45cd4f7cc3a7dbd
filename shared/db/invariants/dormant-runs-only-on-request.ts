import { LONGEST_TRANSACTION_SECONDS } from '../begin.ts';
import { sql } from '../sql.ts';
import type { Invariant } from './invariant.ts';

/** A run of a parent of the manifest `m` has asked for `r`; the step of a plan asks in the plan's name. */
const isActivatedByParent = sql`exists (
  select from waybill.execution a
    join waybill.execution root on root.id = a.root_id
    join waybill.manifest_dependency d on d.child_id = m.id and d.parent_id = root.manifest_id
   where r.initiator_type = 'execution' and a.id = case when r.initiator_id ~ '^[0-9]{1,18}$' then r.initiator_id::bigint end)`;

/** Its parents were others, or may have been, when `r` was queued. */
const hasOtherParents = sql`exists (
  select from waybill.audit_event c
   where c.target_type = 'manifest' and c.target = m.external_id and c.action = 'manifest.change' and c.before ? 'dependsOn'
     and c.occurred_at > r.created_at - make_interval(secs => ${LONGEST_TRANSACTION_SECONDS}))`;

/**
 * A dormant dependent runs because a parent of its own activated it while running, or a person asked; no schedule, edge or backfill queues it, and no stranger activates it. One that
 * became dormant may still have what was queued before, so only what is younger than its definition counts; whose activation it was is asked for a day, which is less than runs are kept.
 * Reads queued entries and unfinished executions, and probes their manifests; of activations also who asked.
 */
export const dormantRunsOnlyOnRequest: Invariant = {
  name: 'a_dormant_dependent_runs_only_when_it_is_activated_or_asked_for',
  kind: 'always',
  statement: sql`
    select r.subject, format('dormant manifest %s, queued by origin %s of %s %s', m.external_id, r.origin, r.initiator_type, r.initiator_id) as detail
      from (
        select 'execution ' || e.id as subject, e.manifest_id, e.origin, e.created_at, e.initiator_type, e.initiator_id
          from waybill.execution e where e.state in ('waiting', 'pending', 'in_progress') and e.parent_id is null
        union all
        select 'entry ' || w.id, w.manifest_id, w.origin, w.created_at, w.initiator_type, w.initiator_id
          from waybill.work_queue w where w.status = 'queued' and w.execution_id is null
      ) r
      join waybill.manifest m on m.id = r.manifest_id
     where m.schedule_type = 'dormant_dependent'
       and case when r.origin = 'activation'
                then r.created_at > waybill.now() - interval '1 day' and not ${isActivatedByParent} and not ${hasOtherParents}
                else r.origin not in ('retry', 'dead_letter', 'manual') end
       and (m.updated_at = m.created_at or r.created_at > m.updated_at + make_interval(secs => ${LONGEST_TRANSACTION_SECONDS}))
     order by r.subject limit 100`,
};
