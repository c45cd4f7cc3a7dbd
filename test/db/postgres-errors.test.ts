import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import pg from 'pg';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  isConnectionLost,
  isRowRefused,
  isSettingUnknown,
  isTransactionRestartable,
  isTransactionTooLong,
  violatedConstraint,
} from '../../shared/db/postgres-errors.ts';
import { useDatabase } from '../support/database.ts';

const server = useDatabase();

beforeAll(() =>
  server.pool.query(`
    create table parcel (id integer primary key, weight smallint not null constraint weight_is_positive check (weight > 0), label text);
    create index on parcel (label);
    insert into parcel values (1, 1)`),
);

/** What a statement is refused with, on a connection of its own. */
async function refusal(...statements: string[]): Promise<unknown> {
  const client = new pg.Client({ connectionString: server.url });
  client.on('error', () => {});
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } catch (error) {
    return error;
  } finally {
    await client.end();
  }
  throw new Error(`nothing was refused in: ${statements.join('; ')}`);
}

/** Everything that the file can say about an error. */
const meaning = (error: unknown) => ({
  isRowRefused: isRowRefused(error),
  isConnectionLost: isConnectionLost(error),
  isTransactionRestartable: isTransactionRestartable(error),
  isTransactionTooLong: isTransactionTooLong(error),
  isSettingUnknown: isSettingUnknown(error),
  violatedConstraint: violatedConstraint(error),
});
const nothing = {
  isRowRefused: false,
  isConnectionLost: false,
  isTransactionRestartable: false,
  isTransactionTooLong: false,
  isSettingUnknown: false,
  violatedConstraint: undefined,
};

describe('a row is refused', () => {
  it.each([
    ['a duplicate key', 'insert into parcel values (1, 1)', 'parcel_pkey'],
    ['a broken rule', 'insert into parcel values (2, 0)', 'weight_is_positive'],
    ['a missing value', 'insert into parcel values (2, null)', undefined],
    ['a number out of range', 'insert into parcel values (2, 70000)', undefined],
    ['text that is not a number', `insert into parcel values (2, 'heavy')`, undefined],
    [
      'a value too large for its index',
      `insert into parcel select 2, 1, string_agg(random()::text, '') from generate_series(1, 2000)`,
      undefined,
    ],
    ['what a trigger raises', `do $$ begin raise exception 'no parcels today'; end $$`, undefined],
  ])('for %s', async (_, statement, constraint) => {
    expect(meaning(await refusal(statement))).toEqual({ ...nothing, isRowRefused: true, violatedConstraint: constraint });
  });

  it('for the character zero, which text cannot hold', async () => {
    const error = await server.pool.query('insert into parcel values (2, 1, $1)', ['a\0b']).catch((caught: unknown) => caught);
    expect(meaning(error)).toEqual({ ...nothing, isRowRefused: true });
  });
});

describe('a transaction may be restarted', () => {
  it('after a serialization failure', async () => {
    const other = new pg.Client({ connectionString: server.url });
    await other.connect();
    await other.query('begin isolation level repeatable read; select * from parcel');
    await server.pool.query('update parcel set label = $1', ['moved']);
    const error = await other.query('update parcel set weight = 2').catch((caught: unknown) => caught);
    await other.end();
    expect(meaning(error)).toEqual({ ...nothing, isTransactionRestartable: true });
  });
});

describe('a connection is lost', () => {
  const lost = { ...nothing, isConnectionLost: true };

  it('when it is ended by an administrator', async () => {
    expect(meaning(await refusal('select pg_terminate_backend(pg_backend_pid())'))).toEqual(lost);
  });

  it('when it is open in one transaction for too long', async () => {
    const error = await refusal('set transaction_timeout = 50', 'select pg_sleep(60)');
    expect(meaning(error)).toEqual({ ...lost, isTransactionTooLong: true });
  });

  it('when a transaction idled for too long', async () => {
    const client = new pg.Client({ connectionString: server.url });
    const failed = once(client, 'error');
    await client.connect();
    await client.query('set idle_in_transaction_session_timeout = 50; begin');
    expect(meaning((await failed)[0])).toEqual(lost);
    client.on('error', () => {});
    expect(meaning(await client.query('select 1').catch((caught: unknown) => caught))).toEqual(lost);
  });

  it('when there is no place for another', async () => {
    await server.pool.query(`create role crowded login password 'crowded' connection limit 0`);
    const url = new URL(server.url);
    url.username = 'crowded';
    url.password = 'crowded';
    const error = await new pg.Client({ connectionString: url.href }).connect().catch((caught: unknown) => caught);
    await server.pool.query('drop role crowded');
    expect(meaning(error)).toEqual(lost);
  });

  it('when nobody listens', async () => {
    const free = createServer().listen(0, '127.0.0.1');
    await once(free, 'listening');
    const { port } = free.address() as AddressInfo;
    free.close();
    await once(free, 'close');
    const error = await new pg.Client({ host: '127.0.0.1', port }).connect().catch((caught: unknown) => caught);
    expect(meaning(error)).toEqual(lost);
  });

  it.each([
    ['the server accepts and says nothing', () => {}],
    ['the server hangs up', (socket: Socket) => socket.destroy()],
  ])('when %s', async (_, onConnection) => {
    const deaf = createServer(onConnection).listen(0, '127.0.0.1');
    await once(deaf, 'listening');
    const { port } = deaf.address() as AddressInfo;
    const pool = new pg.Pool({ host: '127.0.0.1', port, connectionTimeoutMillis: 100 });
    const error = await pool.connect().catch((caught: unknown) => caught);
    await pool.end();
    deaf.close();
    expect(meaning(error)).toEqual(lost);
  });

  it.each(['ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH'])('when the system says %s', (code) => {
    expect(meaning(Object.assign(new Error(`write ${code}`), { code }))).toEqual(lost);
  });
});

it('a setting is unknown when the server has none of that name', async () => {
  expect(meaning(await refusal('set local unheard_of = 1'))).toEqual({ ...nothing, isSettingUnknown: true });
});

it.each([
  ['a cancelled statement', 'set statement_timeout = 50; select pg_sleep(60)'],
  ['a table that does not exist', 'select * from nowhere'],
  ['a syntax error', 'selekt 1'],
])('%s has none of these meanings', async (_, statement) => {
  expect(meaning(await refusal(statement))).toEqual(nothing);
});

it.each([[undefined], [null], ['a string'], [new Error('something else')], [{ code: 23505 }], [{ code: 'EACCES' }]])(
  'what was thrown by others, as %s, has none of these meanings',
  (thrown) => {
    expect(meaning(thrown)).toEqual(nothing);
  },
);
