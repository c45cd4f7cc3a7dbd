import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';

/** Notes, after the send, that the planned wake is on its way. Zero rows mean that a later one has been planned since. */
export async function confirmArmedWake(db: Db, { generation }: { generation: number }): Promise<void> {
  await db.query(sql`update waybill.scheduler_state set armed_generation = ${generation} where wake_generation = ${generation}`);
}
