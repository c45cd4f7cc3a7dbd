import { openDatabase } from '../../shared/db/database.ts';
import { sql } from '../../shared/db/sql.ts';

/** A process that holds a row in a transaction, says so, and is stopped by whoever started it. */
const database = openDatabase({ url: process.argv[2]!, transactionSeconds: 2 });
await database.transaction(async (db) => {
  await db.query(sql`select from note where id = 1 for no key update`);
  process.send!('holds');
  await new Promise(() => setInterval(() => {}, 60_000));
});
