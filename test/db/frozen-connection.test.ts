import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Database, openDatabase } from '../../shared/db/database.ts';
import { sql } from '../../shared/db/sql.ts';
import { useDatabase } from '../support/database.ts';

const server = useDatabase();
let database: Database;

beforeAll(() => {
  database = openDatabase({ url: server.url, maxConnections: 3 });
});
afterAll(() => database.close());

/** Ends all connections while this process stands still, as a frozen function would: it cannot have noticed when it goes on. */
function loseConnectionsWhileFrozen(): void {
  const script = `
    const client = new (require('pg').Client)(process.argv[1]);
    client.connect()
      .then(() => client.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()'))
      .then(() => client.end());`;
  execFileSync(process.execPath, ['-e', script, server.url]);
}

/** Opens as many connections as the pool takes, and leaves them idle. */
async function fillPool(): Promise<void> {
  await Promise.all([1, 2, 3].map(() => database.transaction((db) => db.query(sql`select pg_sleep(0.05)`))));
}

it('a statement on a connection that was lost while the process was frozen is answered all the same', async () => {
  await database.query(sql`select 1`);
  loseConnectionsWhileFrozen();
  expect(await database.query(sql`select 2 as two`)).toEqual([{ two: 2 }]);
});

it.each([1, 2])(
  'statements, %i at once, are answered when all pooled connections were lost while the process was frozen',
  async (count) => {
    await fillPool();
    loseConnectionsWhileFrozen();
    const answers = await Promise.all(Array.from({ length: count }, () => database.query(sql`select 2 as two`)));
    expect(answers).toEqual(Array(count).fill([{ two: 2 }]));
  },
);

it('a transaction begins on a fresh connection when all pooled ones were lost while the process was frozen', async () => {
  await fillPool();
  loseConnectionsWhileFrozen();
  expect(await database.transaction((db) => db.query(sql`select 3 as three`))).toEqual([{ three: 3 }]);
});
