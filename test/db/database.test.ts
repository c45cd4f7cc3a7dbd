import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Database, type Db, openDatabase, readNow } from '../../shared/db/database.ts';
import { isConnectionLost } from '../../shared/db/postgres-errors.ts';
import { sql } from '../../shared/db/sql.ts';
import { useDatabase } from '../support/database.ts';

const server = useDatabase();
let database: Database;

beforeAll(async () => {
  database = openDatabase({ url: server.url, maxConnections: 4 });
  await server.pool.query('create table note (id integer primary key, text text not null)');
});
afterAll(() => database.close());
beforeEach(() => server.pool.query(`truncate note; insert into note values (1, 'one'), (2, 'two')`));

const write = (db: Db, id: number, text: string) =>
  db.query(sql`insert into note values (${id}, ${text}) on conflict (id) do update set text = excluded.text`);
const notes = async () => (await server.pool.query('select text from note order by id')).rows.map(({ text }) => text);

/** Ends the connection that runs `db`, from outside, as a failover or an administrator does. */
async function terminate(db: Db): Promise<void> {
  const [row] = await db.query<{ pid: number }>(sql`select pg_backend_pid() as pid`);
  await server.pool.query('select pg_terminate_backend($1)', [row!.pid]);
  await expect
    .poll(async () => (await server.pool.query('select from pg_stat_activity where pid = $1', [row!.pid])).rowCount, { timeout: 10_000 })
    .toBe(0);
}

describe('a transaction', () => {
  it('commits what its work wrote, and gives what its work returned', async () => {
    expect(await database.transaction(async (db) => write(db, 3, 'three').then(() => 'done'))).toBe('done');
    expect(await notes()).toEqual(['one', 'two', 'three']);
  });

  it('writes nothing when its work throws, and throws the same', async () => {
    const reason = new Error('changed my mind');
    await expect(database.transaction((db) => write(db, 3, 'three').then(() => Promise.reject(reason)))).rejects.toBe(reason);
    expect(await notes()).toEqual(['one', 'two']);
  });

  it('raises when a statement in it failed and the failure was swallowed, instead of losing the writes in silence', async () => {
    const swallowing = database.transaction(async (db) => {
      await write(db, 3, 'three');
      await db.query(sql`select 1 / 0`).catch(() => {});
      return 'looks fine';
    });
    await expect(swallowing).rejects.toThrow('the transaction was not committed: postgres answered ROLLBACK');
    expect(await notes()).toEqual(['one', 'two']);
  });

  it('leaves the connection usable, whatever happened in it', async () => {
    const single = openDatabase({ url: server.url, maxConnections: 1 });
    await single.transaction((db) => db.query(sql`select 1 / 0`)).catch(() => {});
    await single.transaction((db) => db.query(sql`select 1 / 0`).catch(() => {})).catch(() => {});
    await single.transaction((db) => write(db, 3, 'three'));
    await single.close();
    expect(await notes()).toEqual(['one', 'two', 'three']);
  });
});

describe('a deadlock', () => {
  it('restarts the transaction that Postgres chose as its victim, and both succeed', async () => {
    const bothHoldOne = meeting(2);
    let attempts = 0;
    const updateBoth = (first: number, second: number, text: string) =>
      database.transaction(async (db) => {
        attempts++;
        await write(db, first, text);
        await bothHoldOne();
        await write(db, second, text);
      });
    await Promise.all([updateBoth(1, 2, 'from the left'), updateBoth(2, 1, 'from the right')]);
    expect(attempts).toBeGreaterThan(2);
    const [one, two] = await notes();
    expect(two).toBe(one);
  });

  it('is raised when it happens every time', async () => {
    let attempts = 0;
    const failing = database.transaction(async (db) => {
      attempts++;
      await db.query(sql`do $$ begin raise exception 'again' using errcode = '40P01'; end $$`);
    });
    await expect(failing).rejects.toMatchObject({ code: '40P01' });
    expect(attempts).toBe(4);
  });
});

describe('a connection that the server ends', () => {
  it('in the middle of a statement rejects it, writes nothing, and the pool recovers', async () => {
    const single = openDatabase({ url: server.url, maxConnections: 1 });
    const sleeping = single
      .transaction(async (db) => {
        await write(db, 3, 'three');
        await db.query(sql`select pg_sleep(60)`);
      })
      .catch((error: unknown) => error);
    await expect
      .poll(
        async () => {
          const asleep = `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`;
          return (await server.pool.query(asleep)).rowCount;
        },
        { timeout: 10_000 },
      )
      .toBe(1);
    expect(isConnectionLost(await sleeping)).toBe(true);
    await single.transaction((db) => write(db, 4, 'four'));
    await single.close();
    expect(await notes()).toEqual(['one', 'two', 'four']);
  });

  it('between two statements rejects the next one as a lost connection, writes nothing, and the pool recovers', async () => {
    const single = openDatabase({ url: server.url, maxConnections: 1 });
    const failure = await single
      .transaction(async (db) => {
        await write(db, 3, 'three');
        await terminate(db);
        await write(db, 4, 'four');
      })
      .catch((error: unknown) => error);
    expect(isConnectionLost(failure)).toBe(true);
    await single.transaction((db) => write(db, 5, 'five'));
    await single.close();
    expect(await notes()).toEqual(['one', 'two', 'five']);
  });
});

describe('an injected clock', () => {
  let at = new Date('2030-01-02T03:04:05.678Z');
  const clocked = () => openDatabase({ url: server.url, maxConnections: 1, clock: { now: () => at } });

  it('is what waybill.now() says, in a transaction and in a single statement', async () => {
    const timed = clocked();
    expect(await timed.transaction(readNow)).toEqual(at);
    at = new Date('2031-01-01T00:00:00Z');
    expect(await readNow(timed)).toEqual(at);
    await timed.close();
  });

  it('ends with its transaction, so that the next user of the connection sees the real time', async () => {
    const timed = clocked();
    const after = await timed.transaction(async (db) => {
      await db.query(sql`commit`);
      return readNow(db);
    });
    await timed.close();
    expect(Math.abs(after.getTime() - Date.now())).toBeLessThan(60_000);
  });

  it('is absent unless it is given', async () => {
    expect(Math.abs((await readNow(database)).getTime() - Date.now())).toBeLessThan(60_000);
  });
});

it('counts and ids are numbers', async () => {
  expect(await database.query(sql`select count(*) as notes, 9007199254740991::bigint as id from note`)).toEqual([
    { notes: 2, id: Number.MAX_SAFE_INTEGER },
  ]);
});

/** Resolves for everybody once this many have come, and at once for those who come later. */
function meeting(size: number): () => Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let count = 0;
  return () => {
    if (++count >= size) resolve();
    return promise;
  };
}
