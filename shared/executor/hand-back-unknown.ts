import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { ExecutionId } from '../model/ids.ts';

/**
 * Gives executions back whose workflow this deployment does not know: a rollout may be under way, so they are rung again without counting an attempt. The
 * first time is noted, and kept through every later one. One that is missing from the answer was lost meanwhile, which is not the caller's business any more.
 */
export async function handBackUnknown(db: Db, { ids, leaseToken }: { ids: ExecutionId[]; leaseToken: string }): Promise<ExecutionId[]> {
  const rows = await db.query<{ id: ExecutionId }>(sql`
    with held as (
      select id from waybill.execution
       where id = any(${ids}::bigint[]) and state = 'in_progress' and lease_token = ${leaseToken}
       order by id for no key update
    )
    update waybill.execution e
       set state = 'pending', lease_token = null, lease_expires_at = null, sent_at = waybill.now(), claimed_at = null,
           -- What was begun under an earlier deployment goes on from there.
           started_at = case when e.started_at < e.claimed_at then e.started_at end,
           unknown_since_at = coalesce(e.unknown_since_at, waybill.now())
      from held where e.id = held.id and e.state = 'in_progress'
    returning e.id`);
  return rows.map(({ id }) => id);
}
