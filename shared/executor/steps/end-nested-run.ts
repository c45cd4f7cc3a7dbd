import type { Db } from '../../db/database.ts';
import { sql } from '../../db/sql.ts';
import type { ExecutionId } from '../../model/ids.ts';
import type { Failure } from '../../transitions/end-runs.ts';
import type { Tally } from './end-step.ts';

export interface EndNestedRun {
  id: ExecutionId;
  state: 'completed' | 'completed_with_warnings' | 'failed';
  outputText?: string;
  failure?: Failure;
  tally: Tally;
}

/** Ends a nested run. In a transaction after {@link endStep}, which holds the lease; written again, it changes nothing. */
export async function endNestedRun(db: Db, { id, state, outputText, failure, tally }: EndNestedRun): Promise<void> {
  await db.query(sql`
    update waybill.execution e
       set state = ${state}::waybill.execution_state, output = ${outputText ?? null}::jsonb, failure_code = ${failure?.code ?? null},
           failure_message = ${failure?.message ?? null}, failure_stack = ${failure?.stack ?? null}, failure_step = ${failure?.step ?? null},
           item_count = ${tally.itemCount}, failed_item_count = ${tally.failedItemCount}, warning_count = ${tally.warningCount},
           finished_at = waybill.now(), lease_expires_at = null,
           running_ms = e.running_ms + (extract(epoch from waybill.now() - e.claimed_at) * 1000)::bigint
     where e.id = ${id} and e.state = 'in_progress'`);
}
