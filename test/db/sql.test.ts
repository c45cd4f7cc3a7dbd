import { expect, it } from 'vitest';
import { sql } from '../../shared/db/sql.ts';
import { useDatabase } from '../support/database.ts';

const server = useDatabase();

it('every hole becomes a numbered parameter, and its value stays apart from the text', () => {
  const statement = sql`select * from t where a = ${1} and b = ${"'; drop table t; --"}`;
  expect({ ...statement }).toEqual({ text: 'select * from t where a = $1 and b = $2', values: [1, "'; drop table t; --"] });
});

it('fragments are spliced in with their holes renumbered, however deep', () => {
  const inner = sql`c = ${'inner'}`;
  const outer = sql`b = ${'outer'} and ${inner} and d = ${'$1'}`;
  expect({ ...sql`select ${'first'} where ${outer} or ${inner} limit ${10}` }).toEqual({
    text: 'select $1 where b = $2 and c = $3 and d = $4 or c = $5 limit $6',
    values: ['first', 'outer', 'inner', '$1', 'inner', 10],
  });
});

it('a fragment with ten holes and more is renumbered by number, not by digit', () => {
  const many = sql`${1}, ${2}, ${3}, ${4}, ${5}, ${6}, ${7}, ${8}, ${9}, ${10}, ${11}`;
  expect(sql`select ${0}, ${many}`.text).toBe('select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12');
});

it('an object from outside that is shaped like a statement is a value', async () => {
  const shaped = { text: 'pg_sleep(60)', values: ['x'] };
  const { text, values } = sql`select ${shaped}::jsonb as value`;
  expect(text).toBe('select $1::jsonb as value');
  expect((await server.pool.query(text, values as unknown[])).rows).toEqual([{ value: shaped }]);
});
