import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { ExecutionId } from '../model/ids.ts';
import type { Doorbell } from '../queue/doorbell.ts';
import { type PoolQueues, type RingableExecution, sendBells } from '../queue/send-bells.ts';

/**
 * Rings what was just admitted. The admission has noted the bell as sent, which saves one write of every execution; so only a bell that the queue has refused is written about, namely
 * that it was not sent. Killed before the send, the note is ahead of the truth until the manager finds the execution quiet, half a minute later, like every one whose bell got lost.
 */
export async function ringAdmitted(db: Db, doorbell: Doorbell, pools: PoolQueues, admitted: RingableExecution[]): Promise<number> {
  const sent = await sendBells(doorbell, pools, admitted);
  await markUnsent(
    db,
    admitted.filter(({ id }) => !sent.has(id)).map(({ id }) => id),
  );
  return sent.size;
}

/** Passing over a row that somebody holds is fine: he is about to end it. */
async function markUnsent(db: Db, ids: ExecutionId[]): Promise<void> {
  if (!ids.length) return;
  await db.query(sql`
    with held as (
      select id from waybill.execution where id = any(${ids}::bigint[]) and state = 'pending' order by id for no key update skip locked
    )
    update waybill.execution e set sent_at = null, ring_count = 0 from held where e.id = held.id and e.state = 'pending'`);
}
