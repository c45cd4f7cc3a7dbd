import type { Db } from '../db/database.ts';
import { selectExecution } from '../db/queries/select-execution.ts';
import { describeExecutionDetail, type ExecutionDetail } from './describe-execution.ts';
import { isId } from './paging.ts';

/** The execution with this id, or undefined when there is none (any more). */
export async function readExecution(db: Db, id: string): Promise<ExecutionDetail | undefined> {
  if (!isId(id)) return undefined;
  const row = await selectExecution(db, id);
  return row && describeExecutionDetail(row);
}
