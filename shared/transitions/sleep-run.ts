import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { WorkQueueId } from '../model/ids.ts';
import { ranSoFar, type Suspended, type SuspendRun } from './hand-back-run.ts';
import { lockOwnRun } from './lock-own-run.ts';
import { parkNestedRuns } from './park-nested-runs.ts';

/**
 * Puts an execution to sleep: it waits, without slot and lease, and its own entry is queued again for the instant at which it goes on. From there it is admitted through capacity like any other.
 * The entry is locked before the execution, as by everybody who holds both. Killed before the commit, the lease decides; killed after it, the entry is in the queue and every cycle
 * of the manager sees it.
 */
export async function sleepRun(db: Db, { executionId, leaseToken, resumeAt, ...run }: SuspendRun & { resumeAt: Date }): Promise<Suspended> {
  const [entry] = await db.query<{ id: WorkQueueId }>(sql`
    select w.id from waybill.work_queue w
     where w.id = (select e.work_queue_id from waybill.execution e where e.id = ${executionId})
       for no key update`);
  const own = await lockOwnRun(db, { executionId, leaseToken });
  if (!own) return { outcome: 'lost' };
  if (own.isCancelRequested) return { outcome: 'cancel_requested' };
  if (!entry) throw new Error(`execution ${executionId} has no entry in the queue that could wake it`);
  await db.query(sql`
    update waybill.execution
       set state = 'waiting', lease_token = null, lease_expires_at = null, claimed_at = null, available_at = ${resumeAt}, ${ranSoFar(run)}
     where id = ${executionId}`);
  await db.query(sql`
    update waybill.work_queue set status = 'queued', dispatched_at = null, execution_id = ${executionId}, available_at = ${resumeAt}
     where id = ${entry.id}`);
  await parkNestedRuns(db, [executionId]);
  return { outcome: 'suspended' };
}
