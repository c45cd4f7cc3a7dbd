import { sql } from '../db/sql.ts';

/**
 * The next instant at which somebody should look, null if there is none; not after now, if somebody should already have looked. A lease is lost only after the instant at which it expires, and
 * the clock counts in milliseconds.
 */
export const nextInstant = sql`least(
  (select min(next_due_at) from waybill.manifest where next_due_at is not null),
  (select min(available_at) from waybill.work_queue where status = 'queued' and available_at > waybill.now() and available_at > created_at),
  (select min(lease_expires_at) + interval '1 millisecond' from waybill.execution where state = 'in_progress' and lease_expires_at is not null),
  (select min(deadline_at) from waybill.execution where group_count is not null and finished_at is null and deadline_at is not null)
)`;
