import fc from 'fast-check';
import { expect, it } from 'vitest';
import { toStorableJson, toStorableText } from '../../shared/model/json.ts';
import { useDatabase } from '../support/database.ts';

const server = useDatabase();

/** Strings of any UTF-16 code units: halves of surrogate pairs and the character zero included. */
const anyText = fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)), maxLength: 8 });
const anyJson = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.oneof(anyText, fc.constantFrom('\\u0000', '\\\0', '\ud83d\ude00', '\\\ud800'), fc.double(), fc.boolean(), fc.constant(null)),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(anyText, tie('value'), { maxKeys: 3 }),
  ),
})).value;

const store = async (text: string) => (await server.pool.query('select $1::jsonb as value', [text])).rows[0].value;

it('Postgres stores exactly the values that are called storable', async () => {
  await fc.assert(
    fc.asyncProperty(anyJson, async (value) => {
      const storable = toStorableJson(value);
      if ('text' in storable) expect(await store(storable.text)).toEqual(JSON.parse(storable.text));
      else await expect(store(JSON.stringify(value))).rejects.toThrow();
    }),
    { numRuns: 500, examples: [['a\ud800'], ['\udc00'], [{ 'a\0': 1 }], ['\\ud800'], [{ '\ud800': 1 }]] },
  );
});

it.each([
  [
    'half a surrogate pair',
    { name: 'a\ud83d' },
    'it contains half of a surrogate pair, which cannot be stored: cut text between characters',
  ],
  ['the character zero', { 'a\0': 1 }, 'it contains the character \\u0000, which cannot be stored'],
  ['a big integer', { count: 1n }, 'it is not JSON: Do not know how to serialize a BigInt'],
  ['too much', 'x'.repeat(262_143), 'it is 262145 bytes of JSON, at most 262144 are allowed: store it elsewhere and return its key'],
])('says why %s cannot be stored', (_, value, problem) => {
  expect(toStorableJson(value)).toEqual({ problem });
});

it('nothing is stored as null', () => {
  expect(toStorableJson(undefined)).toEqual({ text: 'null' });
});

it('any text can be stored once it was made storable, wherever it is cut', async () => {
  await fc.assert(
    fc.asyncProperty(anyText, fc.integer({ min: 1, max: 8 }), async (text, maxLength) => {
      const storable = toStorableText(text, maxLength);
      expect(storable.length).toBeLessThanOrEqual(maxLength);
      expect(await store(JSON.stringify(storable))).toBe(storable);
    }),
    { numRuns: 300, examples: [['\ud83d\ude00\ud83d\ude00', 2]] },
  );
});
