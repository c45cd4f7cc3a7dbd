import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';

/**
 * Takes the leadership of one of the places at which rounds run side by side; the first place is that of the cycle itself. Must be the transaction's first statement: an advisory lock does not protect a snapshot that was taken before it.
 * The lock goes with the transaction, so a manager that dies does not stay in charge.
 */
export async function tryLeadership(db: Db, place: number): Promise<boolean> {
  const [row] = await db.query<{ acquired: boolean }>(
    sql`select pg_try_advisory_xact_lock(hashtextextended(${'waybill:manager'}, ${place})) as acquired`,
  );
  return row?.acquired ?? false;
}
