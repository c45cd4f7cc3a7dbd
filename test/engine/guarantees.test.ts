import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '../..');
const text = readFileSync(join(root, 'docs/guarantees.md'), 'utf8');
const proofs = [...text.matchAll(/\]\(\.\.\/(test\/[\w/.-]+)\) “([^”]+)”/g)].map(([, file, title]) => [file!, title!] as const);

/** Whether the source spells each part of the title, in a `describe`, an `it` or a table of them. */
const isTitleIn = (source: string, title: string) =>
  title.split(' › ').every((part) => ['(', '[', '\n    '].some((before) => source.includes(`${before}'${part}'`)));

describe('every promise and behaviour in docs/guarantees.md', () => {
  it('names at least one proof in every row of its tables', () => {
    const rows = text.split('\n').filter((line) => line.startsWith('| ') && !line.startsWith('| behaviour |'));
    expect(rows.length).toBeGreaterThan(70);
    expect(rows.filter((row) => !row.includes('](../test/'))).toEqual([]);
  });

  it.each(proofs)('is proven by a test that exists: %s “%s”', (file, title) => {
    expect(isTitleIn(readFileSync(join(root, file), 'utf8'), title)).toBe(true);
  });

  it('a title that no test has would be noticed', () => {
    expect(isTitleIn(readFileSync(join(root, 'test/engine/due.test.ts'), 'utf8'), 'a title that no test has')).toBe(false);
  });
});
