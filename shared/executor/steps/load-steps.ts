import type { Db } from '../../db/database.ts';
import { sql } from '../../db/sql.ts';
import type { ExecutionId } from '../../model/ids.ts';

export type StepKind = 'step' | 'sleep' | 'run';

/** A step as some invocation of the run has left it. */
export interface RecordedStep {
  path: string;
  kind: StepKind;
  state: 'running' | 'completed' | 'failed';
  /** The attempt, or the nested run in it, that began it last. */
  executionId: ExecutionId;
  sequence: number;
  output: unknown;
  /** Too large to be loaded before somebody asks for it. */
  isOutputLeftOut: boolean;
  failureCode: string | null;
  failureName: string | null;
  failureMessage: string | null;
  failureStack: string | null;
  itemCount: number;
  failedItemCount: number;
  warningCount: number;
}

/** More than this is work for a list of manifests; what was recorded must fit into the memory of a small function. */
export const MOST_STEPS = 10_000;
const LARGEST_LOADED_BYTES = 8_192;

/** All that the run has recorded, by whatever attempt. What it activated is recorded as steps too, but asked for elsewhere. */
export function loadSteps(db: Db, runId: ExecutionId): Promise<RecordedStep[]> {
  return db.query<RecordedStep>(sql`
    select name as path, kind, state, execution_id as "executionId", sequence,
           case when pg_column_size(output) <= ${LARGEST_LOADED_BYTES} then output end as output,
           coalesce(pg_column_size(output) > ${LARGEST_LOADED_BYTES}, false) as "isOutputLeftOut",
           failure_code as "failureCode", failure_name as "failureName", failure_message as "failureMessage", failure_stack as "failureStack",
           item_count as "itemCount", failed_item_count as "failedItemCount", warning_count as "warningCount"
      from waybill.execution_step
     where run_id = ${runId} and name not like 'activate:%'
     order by id limit ${MOST_STEPS}`);
}

/** The output of one completed step, however large. */
export async function readStepOutput(db: Db, runId: ExecutionId, path: string): Promise<unknown> {
  const [step] = await db.query<{ output: unknown }>(sql`
    select output from waybill.execution_step where run_id = ${runId} and name = ${path} limit 1`);
  return step?.output;
}
