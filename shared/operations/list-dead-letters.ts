import type { Db } from '../db/database.ts';
import { type DeadLetterStatus, selectDeadLetters } from '../db/queries/select-dead-letters.ts';
import { type DeadLetterDescription, describeDeadLetter } from './describe-dead-letter.ts';
import { isId, type Page, readCursor, writeCursor } from './paging.ts';

export interface ListDeadLetters {
  status?: DeadLetterStatus;
  /** An external id. */
  manifest?: string;
  limit: number;
  cursor?: string;
}

/** The dead letters that match, the newest first. */
export async function listDeadLetters(db: Db, { cursor, limit, ...filter }: ListDeadLetters): Promise<Page<DeadLetterDescription>> {
  const before = cursor === undefined ? undefined : readCursor('dead-letters', cursor, isId);
  const { rows, hasMore } = await selectDeadLetters(db, { ...filter, before, limit });
  const last = rows.at(-1);
  return { items: rows.map(describeDeadLetter), nextCursor: hasMore && last ? writeCursor('dead-letters', last.id) : null };
}
