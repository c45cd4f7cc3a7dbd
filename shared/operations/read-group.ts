import type { Db } from '../db/database.ts';
import { selectGroups } from '../db/queries/select-groups.ts';
import { NotFoundError } from '../errors.ts';
import { describeGroup, type GroupDescription } from './describe-group.ts';
import { isName } from './paging.ts';

/** The group of this name. */
export async function readGroup(db: Db, name: string): Promise<GroupDescription> {
  const [row] = isName(name) ? (await selectGroups(db, { name, limit: 1 })).rows : [];
  if (!row) throw new NotFoundError('group_not_found', `group '${name}' does not exist: GET /v1/groups lists those that do`);
  return describeGroup(row);
}
