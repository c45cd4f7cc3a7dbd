import type { Database } from '../db/database.ts';
import { fromForgottenDependents } from '../db/invariants/no-dependent-is-forgotten.ts';
import { sql } from '../db/sql.ts';
import type { ManifestId } from '../model/ids.ts';
import { markDue } from '../transitions/mark-due.ts';

const BATCH_SIZE = 100;

/**
 * Marks due every dependent that is ahead of its edges and that nothing would look at any more, and gives their ids. That there are none is an
 * invariant, so each one is also a violation: audit before repairing, or the evidence is gone.
 *
 * A batch is one transaction; what it repaired is due and no longer found by the next. Killed before a commit, that batch has not happened;
 * killed after it, the manager finds what is due by itself.
 */
export async function repairDependents(database: Database): Promise<ManifestId[]> {
  const repaired: ManifestId[] = [];
  for (;;) {
    const batch = await repairBatch(database);
    repaired.push(...batch);
    if (batch.length < BATCH_SIZE) return repaired;
  }
}

/**
 * A row that is locked belongs to somebody who decides about it right now, so it is left alone. Counts and holds are judged again once the locks are
 * held: what was found by the locking statement is what was true before it.
 */
function repairBatch(database: Database): Promise<ManifestId[]> {
  return database.transaction(async (db) => {
    const locked = await db.query<{ id: ManifestId }>(sql`
      select m.id ${fromForgottenDependents} order by m.id limit ${BATCH_SIZE} for no key update of m skip locked`);
    if (!locked.length) return [];
    const forgotten = await db.query<{ id: ManifestId }>(sql`
      select m.id ${fromForgottenDependents} and m.id = any(${locked.map(({ id }) => id)}::bigint[]) order by m.id limit ${BATCH_SIZE}`);
    const ids = forgotten.map(({ id }) => id);
    await markDue(db, ids);
    return ids;
  });
}
