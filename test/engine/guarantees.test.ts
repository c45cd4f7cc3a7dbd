import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '../..');
const text = readFileSync(join(root, 'docs/guarantees.md'), 'utf8');
const proofs = [...text.matchAll(/\]\(\.\.\/(test\/[\w/.-]+)\) “([^”]+)”/g)].map(([, file, title]) => [file!, title!] as const);

/** A title as the test's source spells it, in an `it` or a `describe`, table or not. */
const isTitleIn = (source: string, title: string) => source.includes(`('${title}'`) || source.includes(`\n    '${title}'`);

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
