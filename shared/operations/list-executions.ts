import type { Db } from '../db/database.ts';
import type { ExecutionState } from '../db/queries/execution-columns.ts';
import { selectExecutions } from '../db/queries/select-executions.ts';
import { describeExecution, type ExecutionDescription } from './describe-execution.ts';
import { isId, type Page, readCursor, writeCursor } from './paging.ts';

export interface ListExecutions {
  /** An external id. */
  manifest?: string;
  workflow?: string;
  state?: ExecutionState;
  limit: number;
  cursor?: string;
}

/** The executions that match, the newest first; those of plan steps and nested runs too. Steps and children only a read shows. */
export async function listExecutions(db: Db, { cursor, limit, ...filter }: ListExecutions): Promise<Page<ExecutionDescription>> {
  const before = cursor === undefined ? undefined : readCursor('executions', cursor, isId);
  const { rows, hasMore } = await selectExecutions(db, { ...filter, before, limit });
  const last = rows.at(-1);
  return { items: rows.map(describeExecution), nextCursor: hasMore && last ? writeCursor('executions', last.id) : null };
}
