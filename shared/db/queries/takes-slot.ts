import { sql } from '../sql.ts';

/** Whether execution `e` takes a slot: it is live and was admitted from the queue, and is not a plan. Spelled as the indexes that answer it are, so it is spelled here only. */
export const takesSlot = sql`e.state in ('pending', 'in_progress') and e.work_queue_id is not null and e.group_count is null`;
