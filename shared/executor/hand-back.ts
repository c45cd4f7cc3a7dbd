import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { ExecutionId } from '../model/ids.ts';

/**
 * Gives an execution back whose workflow this deployment does not know: a rollout may be under way, so it is rung again
 * without counting an attempt. Zero rows mean that the lease was lost meanwhile.
 */
export async function handBackUnknown(db: Db, { id, leaseToken }: { id: ExecutionId; leaseToken: string }): Promise<void> {
  await db.query(sql`
    update waybill.execution
       set state = 'pending', lease_token = null, lease_expires_at = null, started_at = null, sent_at = waybill.now(),
           unknown_since_at = coalesce(unknown_since_at, waybill.now())
     where id = ${id} and state = 'in_progress' and lease_token = ${leaseToken}`);
}
