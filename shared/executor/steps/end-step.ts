import type { Db } from '../../db/database.ts';
import { sql } from '../../db/sql.ts';
import type { ExecutionId } from '../../model/ids.ts';
import { heldLease, type Lease } from './held-lease.ts';

/** What is kept of a step's failure: all that an error made of it later can tell. */
export interface RecordedFailure {
  code: string;
  name: string;
  message: string;
  stack?: string;
}

/** What a step told of its items. */
export interface Tally {
  itemCount: number;
  failedItemCount: number;
  warningCount: number;
}

export interface EndStep {
  runId: ExecutionId;
  path: string;
  /** As JSON text; a sleep keeps its own, the instant. */
  outputText?: string;
  failure?: RecordedFailure;
  tally?: Tally;
}

/**
 * Notes how a step ended. Killed before, it runs again; killed after, its result stands. Written again, after an answer that got lost, it says the same.
 * False means that the lease is lost, and that the next attempt will run the step again.
 */
export async function endStep(db: Db, lease: Lease, { runId, path, outputText, failure, tally }: EndStep): Promise<boolean> {
  const ended = await db.query(sql`
    with held as (${heldLease(lease)})
    update waybill.execution_step s
       set state = ${failure ? 'failed' : 'completed'}::waybill.step_state, finished_at = waybill.now(), output = coalesce(${outputText ?? null}::jsonb, s.output),
           failure_code = ${failure?.code ?? null}, failure_name = ${failure?.name ?? null}, failure_message = ${failure?.message ?? null},
           failure_stack = ${failure?.stack ?? null}, item_count = ${tally?.itemCount ?? 0}, failed_item_count = ${tally?.failedItemCount ?? 0},
           warning_count = ${tally?.warningCount ?? 0}
      from held where s.run_id = ${runId} and s.name = ${path}
    returning s.id`);
  return ended.length > 0;
}
