import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { hasTest } from '../support/find-test.ts';

const root = join(import.meta.dirname, '../..');
const text = readFileSync(join(root, 'docs/guarantees.md'), 'utf8');
const proofs = [...text.matchAll(/\]\(\.\.\/(test\/[\w/.-]+)\) “([^”]+)”/g)].map(([, file, title]) => [file!, title!] as const);

describe('every promise and behaviour in docs/guarantees.md', () => {
  it('names at least one proof in every row of its tables', () => {
    const rows = text.split('\n').filter((line) => line.startsWith('| ') && !line.startsWith('| behaviour |'));
    expect(rows.length).toBeGreaterThan(70);
    expect(rows.filter((row) => !row.includes('](../test/'))).toEqual([]);
  });

  it.each(proofs)('is proven by a test that exists: %s “%s”', (file, title) => {
    expect(hasTest(readFileSync(join(root, file), 'utf8'), title)).toBe(true);
  });
});

describe('a test', () => {
  /** How the sample leaves a test out; this file leaves out none of its own. */
  const leftOut = '.skip';
  const source = `
describe('a lamp', () => {
  it('is lit by its switch', async () => {
    expect(['is broken']).toEqual([]);
  });

  it.each([
    ['red', 1],
    ['green', 2],
  ])('%s has its own colour', (_, colour) => {
    expect(colour).toBe(1);
  });

  it${leftOut}('is never lit', () => {
    expect(1).toBe(2);
  });

  it('is lit later', { skip: true }, () => {
    expect(1).toBe(2);
  });

  describe('in the rain', () => {
    it('stays dry', () => expect(1).toBe(1));
  });
});

describe${leftOut}('a candle', () => {
  it('burns', () => {
    expect(1).toBe(2);
  });
});

describe.each(lamps)('of kind %s', (kind) => {
  it('shines', () => {
    expect(kind).toBe(1);
  });
});

const lamps = [
  ['a torch', 1],
];
`;

  it.each([
    'a lamp › is lit by its switch',
    'a lamp › %s has its own colour',
    'a lamp › green',
    'a lamp › in the rain › stays dry',
    'of kind %s › shines',
    'a torch › shines',
  ])('is found under the title “%s”', (title) => {
    expect(hasTest(source, title)).toBe(true);
  });

  it.each([
    ['that nobody wrote', 'a lamp › is blown out'],
    ['that is skipped', 'a lamp › is never lit'],
    ['that is skipped by an option', 'a lamp › is lit later'],
    ['whose surroundings are skipped', 'a candle › burns'],
    ['that belongs to others', 'of kind %s › is lit by its switch'],
    ['that is told without its surroundings', 'is lit by its switch'],
    ['that lacks some of its surroundings', 'a lamp › stays dry'],
    ['that has none in it', 'a lamp › in the rain'],
    ['that is a text in a test', 'a lamp › is broken'],
  ])('is not found under a title %s', (_, title) => {
    expect(hasTest(source, title)).toBe(false);
  });
});

it('every reason for which a due manifest is not queued is told in docs/concepts.md', () => {
  const schema = readFileSync(join(root, 'shared/db/schema.txt'), 'utf8');
  const [, reasons = ''] = /^enum waybill\.skip_reason\n((?: {2}\w+\n)+)/m.exec(schema) ?? [];
  const told = readFileSync(join(root, 'docs/concepts.md'), 'utf8').split('## Why a due manifest was not queued')[1] ?? '';
  const rows = [...told.matchAll(/^\| `(\w+)` \|/gm)].map(([, reason]) => reason);
  expect(rows.toSorted()).toEqual(reasons.trim().split(/\s+/).toSorted());
});
