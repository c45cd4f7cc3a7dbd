import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { violatedConstraint } from '../../shared/db/postgres-errors.ts';
import { useDatabase } from '../support/database.ts';
import { brokenRules, soundRows } from './broken-rules.ts';

const server = useDatabase();
let client: pg.PoolClient;

beforeAll(async () => {
  client = await server.pool.connect();
});
afterAll(() => client.release());

type Row = Record<string, unknown>;

/** Inserts into empty tables, with group 1 and the manifests 1 and 2 to refer to, and takes everything back. */
async function insertAll(table: string, rows: Row[]): Promise<void> {
  await client.query('begin');
  try {
    await client.query(`
      truncate waybill.manifest_group, waybill.manifest, waybill.capacity, waybill.scheduler_state restart identity cascade;
      insert into waybill.manifest_group (name) values ('etl');
      insert into waybill.manifest (external_id, workflow_name, group_id, owner, schedule_type)
        values ('first', 'work', 1, 'test', 'none'), ('second', 'work', 1, 'test', 'none')`);
    for (const row of rows) {
      const names = Object.keys(row);
      const holes = names.map((_, index) => `$${index + 1}`);
      await client.query(`insert into waybill.${table} (${names.join(', ')}) values (${holes.join(', ')})`, Object.values(row));
    }
  } finally {
    await client.query('rollback');
  }
}

describe('the schema refuses what breaks', () => {
  it.each(brokenRules)('$rule', async ({ rule, table, rows }) => {
    const complete = rows.map((row) => ({ ...soundRows[table], ...row }));
    await insertAll(table, complete.slice(0, -1));
    const refused = await insertAll(table, complete).catch((error: unknown) => error);
    expect(violatedConstraint(refused)).toBe(rule);
  });
});

it.each(Object.entries(soundRows))('accepts a sound row of %s, so that a refusal is about the rule', async (table, row) => {
  await insertAll(table, [row]);
});

it('every rule of the schema has a row here that breaks it', async () => {
  const { rows } = await server.pool.query<{ rule: string }>(`
    select conname as rule from pg_constraint where connamespace = 'waybill'::regnamespace and contype in ('c', 'u', 'x')
    union
    select c.relname from pg_index i join pg_class c on c.oid = i.indexrelid
     where c.relnamespace = 'waybill'::regnamespace and i.indisunique and not exists (select from pg_constraint where conindid = i.indexrelid)`);
  expect([...new Set(brokenRules.map(({ rule }) => rule))].sort()).toEqual(rows.map(({ rule }) => rule).sort());
});
