import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';

/** Notes, after the send, that a planned wake is on its way. Zero rows mean that a later one has been planned since. */
export async function confirmArmedWake(db: Db, { delaySeconds, generation }: { delaySeconds: number; generation: number }): Promise<void> {
  await db.query(sql`
    update waybill.scheduler_state
       set armed_generation = ${generation}, armed_at = waybill.now() + make_interval(secs => ${delaySeconds})
     where wake_generation = ${generation}`);
}
