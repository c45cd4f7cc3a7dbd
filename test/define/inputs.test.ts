import { expect, it } from 'vitest';
import { app, every, workflow } from '../../shared/index.ts';
import { define, mistakesOf, plain } from './use-mistakes.ts';

const scheduleWith = (input: unknown) => define((scheduler) => scheduler.schedule(plain, 'job', input, every.hours(1)));

it.each<[string, unknown]>([
  ['nothing', undefined],
  ['null', null],
  ['a text', 'orders'],
  ['fields that are undefined', { table: 'orders', limit: undefined }],
  ['a date, as its text', { at: new Date(0) }],
  ['lists and objects', [{ a: [1, 2.5, -0], b: { c: true } }]],
  ['an object without prototype', Object.assign(Object.create(null), { a: 1 })],
  ['almost a mebibyte', 'x'.repeat(1024 * 1024 - 2)],
])('an input may be %s', async (_, input) => {
  await expect(scheduleWith(input)).resolves.toBeTruthy();
});

it.each<[string, unknown, RegExp]>([
  ['more than a mebibyte', 'x'.repeat(1024 * 1024 - 1), /cannot be stored: it is 1048577 bytes of JSON, at most 1048576 are allowed/],
  ['a big integer', { count: 1n }, /cannot be stored: it is not JSON/],
  ['half of a surrogate pair', { text: '\ud800' }, /half of a surrogate pair/],
  ['a key that becomes a prototype', JSON.parse('{"a":{"__proto__":{}}}'), /contains the key '__proto__'; rename it/],
  ['not a number', { a: [1, Number.NaN] }, /its input is not JSON at 'a\.1': NaN would not come back as it is/],
  ['an infinite number', Number.POSITIVE_INFINITY, /its input is not JSON: Infinity would not/],
  ['a function', { done: () => null }, /its input is not JSON at 'done': a function would not/],
  ['a symbol', [Symbol('x')], /its input is not JSON at '0': a symbol would not/],
  ['a map', { by: { id: new Map([[1, 2]]) } }, /its input is not JSON at 'by\.id': a Map would not/],
  ['a set', new Set([1]), /its input is not JSON: a Set would not/],
  ['bytes', { key: new Uint8Array(2) }, /its input is not JSON at 'key': a Uint8Array would not/],
  ['a hole in a list', { list: [1, undefined] }, /its input is not JSON at 'list\.1': undefined in a list would not/],
])('an input may not be %s', async (_, input, mistake) => {
  expect(await mistakesOf(scheduleWith(input))).toEqual([expect.stringMatching(mistake)]);
});

it('a validator that raises is reported like one that refuses', async () => {
  const validate = () => {
    throw new Error('no schema today');
  };
  const broken = workflow({ name: 'broken', input: { '~standard': { version: 1, vendor: 'test', validate } }, run: () => null });
  const defining = app({
    name: 'etl',
    workflows: [broken],
    manifests: (scheduler) => scheduler.schedule(broken, 'job', {}, every.hours(1)),
  }).toDefinition();
  expect(await mistakesOf(defining)).toEqual(["manifest 'job': its input could not be validated: no schema today"]);
});
