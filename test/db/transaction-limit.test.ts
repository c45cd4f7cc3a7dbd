import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createBegin } from '../../shared/db/begin.ts';
import { type Database, openDatabase } from '../../shared/db/database.ts';
import { migrate } from '../../shared/db/migrate.ts';
import { isConnectionLost, isTransactionTooLong } from '../../shared/db/postgres-errors.ts';
import { sql } from '../../shared/db/sql.ts';
import { useDatabase } from '../support/database.ts';
import { useTemporaryDirectory } from '../support/temporary-directory.ts';

const server = useDatabase();
const temporary = useTemporaryDirectory();
let database: Database;

beforeAll(async () => {
  database = openDatabase({ url: server.url, maxConnections: 1 });
  await server.pool.query('create table note (id integer primary key); insert into note values (1)');
});
afterAll(() => database.close());

const limit = sql`select current_setting('transaction_timeout') as "limit"`;
const ownPid = sql`select pg_backend_pid() as pid`;

describe('a transaction', () => {
  it('lasts thirty seconds at the most, and leaves no limit behind on its connection', async () => {
    const inside = await database.transaction(async (db) => [await db.query(limit), await db.query(ownPid)]);
    expect(inside[0]).toEqual([{ limit: '30s' }]);
    expect([await database.query(limit), await database.query(ownPid)]).toEqual([[{ limit: '0' }], inside[1]]);
  });

  it('of a process that is frozen inside of it lets its locks go when its time is over', { timeout: 60_000 }, async () => {
    const holder = fork(join(import.meta.dirname, 'frozen-holder.ts'), [server.url]);
    try {
      await once(holder, 'message');
      holder.kill('SIGSTOP');
      const isHeld = async () => (await server.pool.query('select from note for no key update skip locked')).rowCount === 0;
      expect(await isHeld()).toBe(true);
      await expect.poll(isHeld, { timeout: 30_000 }).toBe(false);
    } finally {
      holder.kill('SIGKILL');
    }
  });

  it('that outlasts its time is told as a lost connection, is not tried again, and the pool recovers', async () => {
    const short = openDatabase({ url: server.url, maxConnections: 1, transactionSeconds: 1 });
    let attempts = 0;
    const failure = await short
      .transaction(async (db) => {
        attempts++;
        await db.query(sql`select pg_sleep(60)`);
      })
      .catch((error: unknown) => error);
    expect({ isLost: isConnectionLost(failure), isTooLong: isTransactionTooLong(failure), attempts }).toEqual({
      isLost: true,
      isTooLong: true,
      attempts: 1,
    });
    expect(await short.transaction((db) => db.query(sql`select 2 as two`))).toEqual([{ two: 2 }]);
    await short.close();
  });

  it('of a migration has no limit', async () => {
    const directory = join(temporary.path, 'migrations');
    await mkdir(directory);
    await writeFile(join(directory, '0900-slow.sql'), `create table migrating as select current_setting('transaction_timeout') as "limit"`);
    await migrate(server.url, directory);
    expect((await server.pool.query('select * from migrating')).rows).toEqual([{ limit: '0' }]);
  });
});

it('a server that knows no limit of whole transactions is asked to end those that idle', async () => {
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  const begin = createBegin(30);
  // Postgres 16 answers to one setting as 18 does to another that neither knows.
  const older = { query: (text: string) => client.query(text.replace('transaction_timeout', 'unheard_of')) } as unknown as pg.PoolClient;
  const settings = async () => {
    await begin(older);
    const { rows } = await client.query(
      `select current_setting('idle_in_transaction_session_timeout') as idle, txid_current_if_assigned() as id`,
    );
    const status = client.getTransactionStatus();
    await client.query('commit');
    return { ...rows[0], status };
  };
  expect([await settings(), await settings()]).toEqual(Array(2).fill({ idle: '30s', id: null, status: 'T' }));
  await client.end();
});
