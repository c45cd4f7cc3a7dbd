import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Database, openDatabase } from '../../shared/db/database.ts';
import { sql } from '../../shared/db/sql.ts';
import { useDatabase } from '../support/database.ts';

const server = useDatabase();
let database: Database;

beforeAll(() => {
  database = openDatabase({ url: server.url });
});
afterAll(() => database.close());

it('reads bigints as numbers and instants as dates of their own, also when rows share them', async () => {
  const rows = await database.query<{ count: number; at: Date }>(sql`
    select n as count, at from unnest(array[1, 2]::bigint[]) n, (select timestamptz '2026-03-02 01:02:03.004+02' as at) instant order by n`);
  const at = new Date('2026-03-01T23:02:03.004Z');
  expect(rows).toEqual([
    { count: 1, at },
    { count: 2, at },
  ]);
  rows[0]!.at.setTime(0);
  expect(rows[1]!.at).toEqual(at);
});

it('reads instants that differ in a row each by itself, far years and infinity too', async () => {
  const [row] = await database.query<Record<string, unknown>>(sql`
    select timestamptz '2026-03-02 00:00:00Z' as a, timestamptz '9999-12-31 23:59:59.999Z' as b, timestamptz 'infinity' as c, timestamptz '2026-03-02 00:00:00Z' as d, null::timestamptz as e`);
  expect(row).toEqual({
    a: new Date('2026-03-02T00:00:00Z'),
    b: new Date('9999-12-31T23:59:59.999Z'),
    c: Number.POSITIVE_INFINITY,
    d: new Date('2026-03-02T00:00:00Z'),
    e: null,
  });
});

it('leaves the connections of others as they are', async () => {
  await database.query(sql`select 1`);
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  try {
    expect((await client.query('select 1::bigint as n')).rows).toEqual([{ n: '1' }]);
  } finally {
    await client.end();
  }
});
