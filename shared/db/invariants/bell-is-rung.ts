import { sql } from '../sql.ts';
import { GRACE_SECONDS, type Invariant } from './invariant.ts';

/**
 * A pending execution is rung after thirty seconds, then after twice as long, up to every five minutes: one that has been quiet for longer has been
 * overlooked. It became pending when it was admitted, or when it was handed back after the time it has run so far.
 * Reads the pending executions.
 */
export const bellIsRung: Invariant = {
  name: 'a_pending_execution_is_rung_again',
  kind: 'eventually',
  graceSeconds: GRACE_SECONDS,
  statement: sql`
    select 'execution ' || e.id as subject,
           format('pending in pool %s, rung %s times, quiet since %s', coalesce(e.pool, 'none'), e.ring_count, quiet.since_at) as detail
      from waybill.execution e
      left join waybill.work_queue w on w.id = e.work_queue_id
     cross join lateral (
       select greatest(e.created_at, e.sent_at, w.dispatched_at, e.unknown_since_at, e.started_at + make_interval(secs => e.running_ms / 1000)) as since_at
     ) quiet
     where e.state = 'pending' and e.group_count is null
       and quiet.since_at < waybill.now() - make_interval(secs => ${GRACE_SECONDS} + least(30 * power(2, greatest(e.ring_count - 1, 0)), 300))
     order by quiet.since_at limit 100`,
};
