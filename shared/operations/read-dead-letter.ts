import type { Db } from '../db/database.ts';
import { selectDeadLetters } from '../db/queries/select-dead-letters.ts';
import { NotFoundError } from '../errors.ts';
import { type DeadLetterDescription, describeDeadLetter } from './describe-dead-letter.ts';
import { isId } from './paging.ts';

/** The dead letter with this id. */
export async function readDeadLetter(db: Db, id: string): Promise<DeadLetterDescription> {
  const [row] = isId(id) ? (await selectDeadLetters(db, { id, limit: 1 })).rows : [];
  if (!row)
    throw new NotFoundError('dead_letter_not_found', `dead letter '${id}' does not exist: GET /v1/dead-letters lists those that do`);
  return describeDeadLetter(row);
}
