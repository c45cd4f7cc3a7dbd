import type { Db } from '../db/database.ts';
import { selectWorkflows } from '../db/queries/select-workflows.ts';
import { toInstant } from './instant.ts';
import { isName, type Page, readCursor, writeCursor } from './paging.ts';

/** A workflow as the deployed code declared it. */
export interface WorkflowDescription {
  name: string;
  /** The app that declares it. */
  owner: string;
  pool: string;
  /** JSON Schema, for forms; null when the validator cannot describe itself. */
  inputSchema: unknown;
  updatedAt: string;
}

export interface ListWorkflows {
  limit: number;
  cursor?: string;
}

/** The workflows that can be run, by name. */
export async function listWorkflows(db: Db, { cursor, limit }: ListWorkflows): Promise<Page<WorkflowDescription>> {
  const after = cursor === undefined ? undefined : readCursor('workflows', cursor, isName);
  const { rows, hasMore } = await selectWorkflows(db, { after, limit });
  const items = rows.map(({ name, owner, pool, input_schema, updated_at }) => ({
    name,
    owner,
    pool,
    inputSchema: input_schema,
    updatedAt: toInstant(updated_at),
  }));
  const last = rows.at(-1);
  return { items, nextCursor: hasMore && last ? writeCursor('workflows', last.name) : null };
}
