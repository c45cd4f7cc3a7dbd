import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const read = (path: string) => readFileSync(join(import.meta.dirname, '../..', path), 'utf8');

it('the example of docs/testing.md is a test that runs', () => {
  const [, example] = /```ts\n(import .*?)```/s.exec(read('docs/testing.md')) ?? [];
  expect(example).toBe(read('test/testing/documented-example.test.ts'));
});

it('docs/testing.md names everything that a kit can do', () => {
  const [, body = ''] = /export interface TestKit .*?\{\n(.*)\n\}/s.exec(read('local/testing/test-kit.ts')) ?? [];
  const names = [...body.matchAll(/^ {2}(?:readonly )?(\w+)[(<:]/gm)].map(([, name]) => name!);
  expect(names.length).toBeGreaterThan(15);
  const text = read('docs/testing.md');
  expect(names.filter((name) => !text.includes(`kit.${name}`))).toEqual([]);
});
