import type { Db } from '../db/database.ts';
import { selectGroups } from '../db/queries/select-groups.ts';
import { describeGroup, type GroupDescription } from './describe-group.ts';
import { isName, type Page, readCursor, writeCursor } from './paging.ts';

export interface ListGroups {
  limit: number;
  cursor?: string;
}

/** The groups by name, each with the capacity in use. */
export async function listGroups(db: Db, { cursor, limit }: ListGroups): Promise<Page<GroupDescription>> {
  const after = cursor === undefined ? undefined : readCursor('groups', cursor, isName);
  const { rows, hasMore } = await selectGroups(db, { after, limit });
  const last = rows.at(-1);
  return { items: rows.map(describeGroup), nextCursor: hasMore && last ? writeCursor('groups', last.name) : null };
}
