import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { ExecutionId } from '../model/ids.ts';

export interface OwnRun {
  isCancelRequested: boolean;
}

/** Takes hold of an execution under its lease. What the row says of itself is what it says now. Undefined means that it was ended or runs elsewhere by now. */
export async function lockOwnRun(
  db: Db,
  { executionId, leaseToken }: { executionId: ExecutionId; leaseToken: string },
): Promise<OwnRun | undefined> {
  const [run] = await db.query<OwnRun>(sql`
    select e.cancel_requested_at is not null as "isCancelRequested" from waybill.execution e
     where e.id = ${executionId} and e.state = 'in_progress' and e.lease_token = ${leaseToken}
       for no key update`);
  return run;
}
