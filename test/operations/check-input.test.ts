import { expect, it } from 'vitest';
import { toStorableJson } from '../../shared/model/json.ts';
import { checkInput } from '../../shared/operations/check-input.ts';
import { useDatabase } from '../support/database.ts';

const server = useDatabase();
const nested = (depth: number, make: (inner: unknown) => unknown): unknown => {
  let value: unknown = 1;
  for (let level = 0; level < depth; level++) value = make(value);
  return value;
};

it.each([
  ['lists', (inner: unknown) => [inner]],
  ['objects', (inner: unknown) => ({ inner })],
  ['lists beside text that looks like brackets', (inner: unknown) => ['[[[{{{"\\', inner, ']]]}}}\\"']],
])('200 levels of %s can be stored, 201 cannot', async (_, make) => {
  const most = toStorableJson(nested(200, make), 1024 * 1024);
  expect(most).toEqual({ text: expect.any(String) });
  await server.pool.query('select $1::jsonb', ['text' in most ? most.text : '']);
  expect(toStorableJson(nested(201, make), 1024 * 1024)).toEqual({ problem: 'it is nested more than 200 levels deep: make it flatter' });
});

it('a value deeper than the stack is refused like any that is too deep', () => {
  expect(toStorableJson(nested(100_000, (inner) => [inner]))).toEqual({
    problem: 'it is nested more than 200 levels deep: make it flatter',
  });
});

it('a value that contains itself is still said to', () => {
  const circle: unknown[] = [];
  circle.push(circle);
  expect(toStorableJson(circle)).toEqual({ problem: 'it is not JSON: Converting circular structure to JSON' });
});

it('a range error of the value itself is told in its own words', () => {
  const value = { toJSON: () => new Date(Number.NaN).toISOString() };
  expect(toStorableJson(value)).toEqual({ problem: 'it is not JSON: Invalid time value' });
});

it('no input is fine, and a key __proto__ at any depth is not', () => {
  expect(() => checkInput(undefined)).not.toThrow();
  expect(() => checkInput(JSON.parse('{"a":[{"__proto__":{}}]}'))).toThrow("the input contains the key '__proto__'");
});
