import type { Db } from '../db/database.ts';
import { type Sql, sql } from '../db/sql.ts';
import type { ExecutionId } from '../model/ids.ts';
import type { Progress } from './finish-executions.ts';
import { lockOwnRun } from './lock-own-run.ts';
import { parkNestedRuns } from './park-nested-runs.ts';

export interface SuspendRun {
  executionId: ExecutionId;
  leaseToken: string;
  /** How long this invocation ran it. */
  runningMs: number;
  /** The last it said. */
  progress?: Progress;
}

/** `cancel_requested`: nothing was changed, the caller should end it. `lost`: somebody else has ended it, or it runs elsewhere, perhaps since this very call got no answer. */
export type Suspended = { outcome: 'suspended' } | { outcome: 'cancel_requested' } | { outcome: 'lost' };

/**
 * Hands an execution back that goes on in another invocation: the same attempt, still with its slot. It counts as rung now, which the caller does after the commit; killed in between, the
 * manager rings it half a minute later.
 */
export async function handBackRun(db: Db, { executionId, leaseToken, ...run }: SuspendRun): Promise<Suspended> {
  const own = await lockOwnRun(db, { executionId, leaseToken });
  if (!own) return { outcome: 'lost' };
  if (own.isCancelRequested) return { outcome: 'cancel_requested' };
  await db.query(sql`
    update waybill.execution
       set state = 'pending', lease_token = null, lease_expires_at = null, claimed_at = null, sent_at = waybill.now(), ring_count = 1, ${ranSoFar(run)}
     where id = ${executionId}`);
  await parkNestedRuns(db, [executionId]);
  return { outcome: 'suspended' };
}

/** What an invocation adds to a run that goes on in another. */
export const ranSoFar = ({ runningMs, progress }: Pick<SuspendRun, 'runningMs' | 'progress'>): Sql => sql`
  running_ms = running_ms + ${Math.round(runningMs)}, progress_done = coalesce(${progress?.done ?? null}::bigint, progress_done),
  progress_total = coalesce(${progress?.total ?? null}::bigint, progress_total), progress_message = coalesce(${progress?.message ?? null}, progress_message)`;
