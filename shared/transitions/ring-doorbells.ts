import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { ExecutionId } from '../model/ids.ts';
import type { Doorbell } from '../queue/doorbell.ts';
import type { PoolSettings } from '../settings.ts';

export interface RingableExecution {
  id: ExecutionId;
  pool: string;
}

/**
 * Rings the executors of pending executions and notes that it did. It runs after the commit that made them pending; killed
 * before the note, the bell is rung once more, which the claim makes harmless. The pool is looked up at every ring, so
 * work survives the move of a pool to another queue.
 */
export async function ringDoorbells(
  db: Db,
  doorbell: Doorbell,
  pools: Record<string, Pick<PoolSettings, 'queueUrl'>>,
  executions: RingableExecution[],
): Promise<ExecutionId[]> {
  const bells = executions.flatMap(({ id, pool }) => (pools[pool] ? [{ executionId: id, queueUrl: pools[pool].queueUrl }] : []));
  if (!bells.length) return [];
  const sent = await doorbell.ringExecutions(bells);
  await markSent(db, sent);
  return sent;
}

/**
 * Zero rows mean that the executor was faster than this note, which is fine, and so is passing over a row that somebody holds: he is about to claim or to end it. Locked in the order of ids
 * like everywhere, since an invocation may be claiming several of them right now.
 */
async function markSent(db: Db, executionIds: ExecutionId[]): Promise<void> {
  if (!executionIds.length) return;
  await db.query(sql`
    with held as (
      select id from waybill.execution where id = any(${executionIds}::bigint[]) and state = 'pending' order by id for no key update skip locked
    )
    update waybill.execution e set sent_at = waybill.now(), ring_count = ring_count + 1
      from held where e.id = held.id and e.state = 'pending'`);
}
