import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { ExecutionId } from '../model/ids.ts';

/** Why a failure code needs a person at once. Any other either has used up its attempts, or says itself that further ones cannot help. */
const REASONS = {
  invalid_input: 'invalid_input',
  input_outdated: 'input_outdated',
  unknown_workflow: 'unknown_workflow',
  non_retryable: 'non_retryable',
  never_started: 'never_started',
};

export interface DeadLettered {
  executionId: ExecutionId;
  isFinal: boolean;
}

/** Hands exhausted and final failures to a person, with the input that failed. An awaiting one per manifest is enough. */
export async function writeDeadLetters(db: Db, failures: DeadLettered[]): Promise<void> {
  if (!failures.length) return;
  const finalIds = failures.filter(({ isFinal }) => isFinal).map(({ executionId }) => executionId);
  await db.query(sql`
    insert into waybill.dead_letter (manifest_id, execution_id, run_id, input, consumed_counts, reason, message, failed_count)
    select e.manifest_id, e.id, e.run_id, e.input, e.consumed_counts,
           case when e.group_count is not null then 'plan_failed'
                else coalesce(${JSON.stringify(REASONS)}::jsonb ->> e.failure_code, case when e.id = any(${finalIds}::bigint[]) then 'non_retryable' else 'exhausted' end)
           end::waybill.dead_letter_reason,
           e.failure_message, coalesce(m.failed_count, e.attempt)
      from waybill.execution e left join waybill.manifest m on m.id = e.manifest_id
     where e.id = any(${failures.map(({ executionId }) => executionId)}::bigint[])
     order by e.id
        on conflict do nothing`);
}
