import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Database, openDatabase, readNow } from '../../shared/db/database.ts';
import { sql } from '../../shared/db/sql.ts';
import { useDatabase } from '../support/database.ts';

const server = useDatabase();
let at = new Date('2030-01-02T03:04:05.678Z');
let database: Database;

beforeAll(() => {
  database = openDatabase({ url: server.url, maxConnections: 1, clock: { now: () => at }, hasOwnSessions: true });
});
afterAll(() => database.close());

describe('a session of the test kit', () => {
  it('follows the clock, in a transaction and in a single statement', async () => {
    expect(await readNow(database)).toEqual(at);
    at = new Date('2031-01-01T00:00:00Z');
    expect(await database.transaction(readNow)).toEqual(at);
    at = new Date('2032-01-01T00:00:00Z');
    expect(await readNow(database)).toEqual(at);
  });

  it('still knows the time after a transaction that was rolled back', async () => {
    at = new Date('2033-01-01T00:00:00Z');
    await expect(database.transaction((db) => db.query(sql`select 1 / 0`))).rejects.toThrow('division by zero');
    expect(await readNow(database)).toEqual(at);
  });

  it('prepares a statement once, whatever its values, and plans it once', async () => {
    const ask = (value: number | null) => database.query<{ sum: number }>(sql`select ${value}::integer + ${1}::integer as sum`);
    expect(await Promise.all([ask(1), ask(null), ask(40)])).toEqual([[{ sum: 2 }], [{ sum: null }], [{ sum: 41 }]]);
    const prepared = await database.query(sql`
      select generic_plans::int as "genericPlans", custom_plans::int as "customPlans" from pg_prepared_statements where statement like '%as sum'`);
    expect(prepared).toEqual([{ genericPlans: 3, customPlans: 0 }]);
  });

  it('outlives a statement that fails', async () => {
    const processId = () => database.query(sql`select pg_backend_pid() as id`);
    const before = await processId();
    await expect(database.query(sql`select 1 / 0`)).rejects.toThrow('division by zero');
    expect(await processId()).toEqual(before);
  });

  it('is replaced when the server has ended it, and its successor knows the time', async () => {
    const [own] = await database.query<{ id: number }>(sql`select pg_backend_pid() as id`);
    await server.pool.query('select pg_terminate_backend($1)', [own!.id]);
    expect(await readNow(database)).toEqual(at);
    expect(await database.transaction(readNow)).toEqual(at);
  });
});
