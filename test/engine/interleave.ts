import type { Database } from '../../shared/db/database.ts';
import { sql } from '../../shared/db/sql.ts';

/** A database whose next transaction does something of ours when its work is done and its commit is still to come. */
export function beforeCommit(database: Database, interrupt: () => Promise<unknown>): Database {
  let isOver = false;
  return {
    ...database,
    transaction: (work) =>
      database.transaction(async (db) => {
        const result = await work(db);
        if (!isOver) {
          isOver = true;
          await interrupt();
        }
        return result;
      }),
  };
}

/** A database that does something of ours just before the statement with this number, counted from 0, is sent. */
export function beforeStatement(
  database: Database,
  number: number,
  interrupt: () => Promise<unknown>,
): Database & { hasInterrupted(): boolean } {
  let count = 0;
  return {
    ...database,
    hasInterrupted: () => count > number,
    transaction: (work) =>
      database.transaction((db) =>
        work({
          query: async (statement) => {
            if (count++ === number) await interrupt();
            return db.query(statement);
          },
        }),
      ),
  };
}

/** Comes back when the work is done, or when it cannot go on because somebody holds a lock; says which. */
export async function settlesOrWaits(database: Database, work: Promise<unknown>): Promise<'settled' | 'waits'> {
  let isSettled = false;
  const settle = () => {
    isSettled = true;
  };
  work.then(settle, settle);
  const waiting = sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
  while (!isSettled) if ((await database.query(waiting)).length) return 'waits';
  return 'settled';
}
