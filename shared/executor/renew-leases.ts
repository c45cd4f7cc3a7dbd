import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { ExecutionId } from '../model/ids.ts';

/** Extends the leases of one executor, in one statement, and hears which runs should stop. A run that is missing from the answer is lost. */
export function renewLeases(
  db: Db,
  { ids, leaseToken, leaseSeconds }: { ids: ExecutionId[]; leaseToken: string; leaseSeconds: number },
): Promise<{ id: ExecutionId; isCancelRequested: boolean }[]> {
  return db.query(sql`
    update waybill.execution set lease_expires_at = waybill.now() + make_interval(secs => ${leaseSeconds})
     where id = any(${ids}::bigint[]) and state = 'in_progress' and lease_token = ${leaseToken}
    returning id, cancel_requested_at is not null as "isCancelRequested"`);
}
