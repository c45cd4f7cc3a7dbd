import pg from 'pg';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { sql } from '../../shared/workflows/index.ts';
import { useEmptyDatabase } from '../support/database.ts';
import { waitFor } from '../support/wait-for.ts';
import { startAccount } from './start-account.ts';
import { useBuiltIn } from './use-built-in.ts';

const world = useBuiltIn(sql);
const warehouse = useEmptyDatabase();
const database = { environment: 'WAREHOUSE_URL' };
const rowsOf = async (text: string) => (await warehouse.pool.query(text)).rows;

beforeEach(async () => {
  vi.stubEnv('WAREHOUSE_URL', warehouse.url);
  await warehouse.pool.query('drop table if exists item; create table item (id int primary key, name text)');
});

describe('statements', () => {
  it('are run in order, and what they did is the output', async () => {
    const statements = [
      "insert into item values (1, 'a'), (2, 'b')",
      { text: 'update item set name = $2 where id >= $1 returning id, name', values: [2, 'c'] },
      'select count(*) from item',
    ];
    expect(await world.run({ database, statements })).toMatchObject({
      state: 'completed',
      output: {
        results: [
          { command: 'INSERT', rowCount: 2, rows: [], isTruncated: false },
          { command: 'UPDATE', rowCount: 1, rows: [{ id: 2, name: 'c' }], isTruncated: false },
          { command: 'SELECT', rowCount: 1, rows: [{ count: 2 }], isTruncated: false },
        ],
      },
    });
  });

  it('may stand in one text, as in a file', async () => {
    const file =
      "insert into item values (1, 'a;b'); -- not; here\n do $$ begin perform 1; end $$; select name from item; select 2 as two;";
    const { output } = await world.run({ database, statements: [file] });
    expect((output as { results: unknown[] }).results).toMatchObject([
      { command: 'INSERT' },
      { command: 'DO' },
      { rows: [{ name: 'a;b' }] },
      { rows: [{ two: 2 }] },
    ]);
  });

  it('with values are one each', async () => {
    const statements = [{ text: 'insert into item values (1); select 1', values: [] }];
    expect(await world.run({ database, statements })).toMatchObject({
      next: 'dead_letter',
      failure_message: expect.stringContaining('multiple commands'),
    });
  });

  it('give values as JSON can say them', async () => {
    const text = `select true as yes, 9007199254740993::int8 as large, 7::int8 as small, 0.1::numeric as exact, 'NaN'::float8 as odd, 1.5::float4 as half,
      '2026-01-02T03:04:05Z'::timestamptz at time zone 'UTC' as at, '\\x00ff'::bytea as bytes, '{"a":[1]}'::jsonb as json, '"\\u0000"'::json as bad, null as nothing, array[1,2] as list`;
    const { output } = await world.run({ database, statements: [text] });
    expect((output as { results: { rows: unknown[] }[] }).results[0]!.rows).toEqual([
      {
        yes: true,
        large: '9007199254740993',
        small: 7,
        exact: '0.1',
        odd: 'NaN',
        half: 1.5,
        at: '2026-01-02 03:04:05',
        bytes: '\\x00ff',
        json: { a: [1] },
        bad: '"\\u0000"',
        nothing: null,
        list: '{1,2}',
      },
    ]);
  });
});

describe('a transaction', () => {
  it('is around all of them: what fails undoes what came before', async () => {
    const statements = ["insert into item values (1, 'a')", 'insert into item values (1)'];
    expect(await world.run({ database, statements })).toMatchObject({
      next: 'retry',
      failure_message: 'statement 2 failed: duplicate key value violates unique constraint "item_pkey"',
    });
    expect(await rowsOf('select * from item')).toEqual([]);
  });

  it.each(['commit', 'rollback', 'commit; begin; rollback'])('that a statement ends is refused: %s', async (ending) => {
    expect(await world.run({ database, statements: [ending, 'select 1'] })).toMatchObject({
      next: 'dead_letter',
      failure_message: expect.stringMatching(/^statement 1 ended the transaction around it/),
    });
  });

  it('is left out on request, for what cannot be in one', async () => {
    const statements = ["insert into item values (1, 'a')", 'create index concurrently item_name on item (name)', 'vacuum item'];
    expect(await world.run({ database, statements })).toMatchObject({
      next: 'dead_letter',
      failure_message: expect.stringContaining('cannot run inside a transaction block'),
    });
    expect(await world.run({ database, statements, transaction: false })).toMatchObject({ state: 'completed' });
    expect(await rowsOf("select 1 from pg_indexes where indexname = 'item_name'")).toHaveLength(1);
  });

  it('that is left out keeps what was done before the failure', async () => {
    const statements = ["insert into item values (1, 'a')", 'select 1/0'];
    expect(await world.run({ database, statements, transaction: false })).toMatchObject({
      next: 'retry',
      failure_message: 'statement 2 failed: division by zero',
    });
    expect(await rowsOf('select id from item')).toEqual([{ id: 1 }]);
  });
});

describe('a statement', () => {
  it.each(['selekt 1', 'select * from nowhere', 'select nothing from item', 'create table item (id int)'])(
    'that cannot work dead-letters the run: %s',
    async (text) => {
      expect(await world.run({ database, statements: [text] })).toMatchObject({
        next: 'dead_letter',
        failure_message: expect.stringMatching(/^statement 1 failed: /),
      });
    },
  );

  it.each([true, false])('that takes too long is cancelled and fails the attempt, with transaction %s', async (transaction) => {
    expect(await world.run({ database, statements: ['select pg_sleep(20)'], statementTimeoutSeconds: 1, transaction })).toMatchObject({
      next: 'retry',
      failure_message: 'statement 1 failed: canceling statement due to statement timeout',
    });
  });

  it('is cancelled in the database when the run is over its time', async () => {
    expect(await world.run({ database, statements: ['select pg_sleep(20) -- mine'] }, { timeoutSeconds: 1 })).toMatchObject({
      failure_code: 'timeout',
    });
    await waitFor(
      'the statement has ended',
      async () =>
        (
          await rowsOf(
            "select 1 from pg_stat_activity where datname = current_database() and query like '%-- mi' || 'ne' and state = 'active'",
          )
        ).length === 0,
      {
        seconds: 5,
      },
    );
  });

  it('that waits for a lock when its connection is cut fails the attempt, and nothing of it remains', async () => {
    const holder = await warehouse.pool.connect();
    onTestFinished(() => holder.release());
    await holder.query('begin; lock table item');
    const running = world.run({ database, statements: ["insert into item values (9, 'z')"] });
    const waiting = await waitFor(
      'the statement waits',
      async () => (await rowsOf("select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"))[0],
      { seconds: 10 },
    );
    await warehouse.pool.query('select pg_terminate_backend($1)', [waiting.pid]);
    expect(await running).toMatchObject({ next: 'retry', failure_message: expect.stringContaining('terminating connection') });
    await holder.query('commit');
    expect(await rowsOf('select * from item')).toEqual([]);
  });
});

describe('rows', () => {
  it('are kept up to a limit per result, the others counted', async () => {
    const { output } = await world.run({ database, statements: ['select generate_series(1, 300000) as n', 'select 1 as n'], maxRows: 2 });
    expect(output).toEqual({
      results: [
        { command: 'SELECT', rowCount: 300_000, rows: [{ n: 1 }, { n: 2 }], isTruncated: true },
        { command: 'SELECT', rowCount: 1, rows: [{ n: 1 }], isTruncated: false },
      ],
    });
  });

  it('are kept as far as the output can hold them', async () => {
    const { state, output } = await world.run({ database, statements: ["select repeat('x', 20000) as text from generate_series(1, 50)"] });
    expect(state).toBe('completed');
    const [result] = (output as { results: { rows: unknown[]; isTruncated: boolean; rowCount: number }[] }).results;
    expect(result).toMatchObject({ rowCount: 50, isTruncated: true });
    expect(result!.rows).toHaveLength(8);
  });
});

describe('the database', () => {
  it('is found through a secret: a URL, or the JSON that RDS keeps', async () => {
    const { secrets } = await startAccount();
    const { hostname, port, username, password, pathname } = new URL(warehouse.url);
    secrets.put('open/url', `${warehouse.url}\n`);
    secrets.put(
      'open/rds',
      JSON.stringify({
        engine: 'postgres',
        host: hostname,
        port: Number(port),
        username,
        password: password || 'none',
        dbname: pathname.slice(1),
      }),
    );
    for (const secret of ['open/url', 'open/rds'])
      expect(await world.run({ database: { secret }, statements: ['select 1'] })).toMatchObject({ state: 'completed' });
  });

  it.each(['mysql://root:5ecret-word@host/db', '{"host":"h","password":"5ecret-word"}', '5ecret-word', 'postgres://u:5ecret-word@[bad'])(
    'of which the secret tells nothing useful dead-letters the run, and the secret stays one',
    async (value) => {
      vi.stubEnv('WAREHOUSE_URL', value);
      const run = await world.run({ database, statements: ['select 1'] });
      expect(run).toMatchObject({
        next: 'dead_letter',
        failure_message: expect.stringContaining('environment variable WAREHOUSE_URL holds neither'),
      });
      expect((await world.kept()) + world.logged.join()).not.toContain('5ecret');
    },
  );

  it('that cannot be reached fails the attempt', async () => {
    vi.stubEnv('WAREHOUSE_URL', 'postgres://u:5ecret-word@127.0.0.1:1/db');
    const run = await world.run({ database, statements: ['select 1'] });
    expect(run).toMatchObject({
      next: 'retry',
      failure_message: expect.stringMatching(/^the database could not be reached: .*ECONNREFUSED/),
    });
    expect((await world.kept()) + world.logged.join()).not.toContain('5ecret');
  });

  it('keeps no connection of a run that has ended', async () => {
    await world.run({ database, statements: ['select 1'] });
    await world.run({ database, statements: ['select 1/0'] });
    const client = new pg.Client({ connectionString: warehouse.url });
    await client.connect();
    onTestFinished(() => client.end());
    const count = "select count(*)::int as n from pg_stat_activity where datname = current_database() and application_name = 'waybill'";
    await waitFor('no connection is left', async () => (await client.query(count)).rows[0].n === 0, { seconds: 5 });
  });
});
