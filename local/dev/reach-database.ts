import { openDatabase } from '../../shared/db/database.ts';
import { sql } from '../../shared/db/sql.ts';
import { messageOf, WaybillError } from '../../shared/errors.ts';

/**
 * Asks a database that is not ours one question, before anything is built for it. Without this the first function to need it would fail, seconds
 * later and in words about the function. Neither the message nor its parts contain the password.
 */
export async function reachDatabase(databaseUrl: string): Promise<void> {
  const { host, pathname } = new URL(databaseUrl);
  const database = openDatabase({ url: databaseUrl, maxConnections: 1 });
  try {
    await database.query(sql`select 1`);
  } catch (cause) {
    throw new WaybillError(
      'database_unreachable',
      `the database '${pathname.slice(1)}' on ${host} cannot be reached (${reasonOf(cause)}): start it, or correct --database-url`,
      { cause },
    );
  } finally {
    await database.close();
  }
}

/** A name with several addresses fails with one error for each, inside one that says nothing itself. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join('; ');
  return error instanceof Error && error.cause instanceof AggregateError ? reasonOf(error.cause) : messageOf(error);
}
