import { sql } from '../sql.ts';
import { GRACE_SECONDS, type Invariant } from './invariant.ts';

/**
 * A running plan has a step that is queued, pending or in progress; if it has none, the transaction that ended the last one should have released the
 * next group or ended the plan. Reads the unfinished plans with their steps.
 */
export const planAdvances: Invariant = {
  name: 'a_plan_advances',
  kind: 'eventually',
  graceSeconds: GRACE_SECONDS,
  statement: sql`
    select 'execution ' || p.id as subject,
           format('plan at group %s of %s, no step has moved since %s', p.current_group_index, p.group_count, step.moved_at) as detail
      from waybill.execution p
     cross join lateral (
       select greatest(p.created_at, p.started_at, max(c.finished_at)) as moved_at,
              count(*) filter (where c.state in ('pending', 'in_progress')
                or (c.state = 'waiting' and exists (select from waybill.work_queue w where w.execution_id = c.id and w.status = 'queued'))) as moving_count
         from waybill.execution c where c.parent_id = p.id and c.group_index is not null
     ) step
     where p.parent_id is null and p.finished_at is null and p.manifest_id is not null and p.group_count is not null
       and step.moving_count = 0 and step.moved_at < waybill.now() - make_interval(secs => ${GRACE_SECONDS})
     order by p.id limit 100`,
};
