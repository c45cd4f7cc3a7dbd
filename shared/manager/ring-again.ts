import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { ExecutionId } from '../model/ids.ts';
import type { Doorbell } from '../queue/doorbell.ts';
import { type PoolQueues, queueOf, type RingableExecution, sendBells } from '../queue/send-bells.ts';

/**
 * Rings once more and notes that it did, and where. Killed before the note, the bell is rung yet again, which the claim makes harmless.
 *
 * A pool that the stack does not have is counted like a bell which nobody answers: it may come back with the next deployment, and if not, the execution ends as never started.
 */
export async function ringAgain(db: Db, doorbell: Doorbell, pools: PoolQueues, executions: RingableExecution[]): Promise<ExecutionId[]> {
  const sent = await sendBells(doorbell, pools, executions);
  await markRung(
    db,
    executions.filter(({ id, pool }) => sent.has(id) || queueOf(pools, pool) === undefined),
  );
  return [...sent];
}

/**
 * Zero rows mean that the executor was faster than this note, which is fine, and so is passing over a row that somebody holds: he is about to claim or to end it. Locked in the order of ids
 * like everywhere, since an invocation may be claiming several of them right now.
 */
async function markRung(db: Db, executions: RingableExecution[]): Promise<void> {
  if (!executions.length) return;
  const ids = executions.map(({ id }) => id);
  await db.query(sql`
    with held as (
      select id from waybill.execution where id = any(${ids}::bigint[]) and state = 'pending' order by id for no key update skip locked
    )
    update waybill.execution e set sent_at = waybill.now(), ring_count = ring_count + 1, pool = rung.pool
      from held join unnest(${ids}::bigint[], ${executions.map(({ pool }) => pool)}::text[]) as rung (id, pool) on rung.id = held.id
     where e.id = held.id and e.state = 'pending'`);
}
