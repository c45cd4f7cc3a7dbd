import { expect, it } from 'vitest';
import { show } from '../../shared/model/show.ts';

const cyclic: { self?: object } = {};
cyclic.self = cyclic;
const deep = JSON.parse('['.repeat(200_000) + ']'.repeat(200_000));

it.each<[unknown, string]>([
  ['text', "'text'"],
  ['x'.repeat(200), `'${'x'.repeat(99)}…`],
  [undefined, 'undefined'],
  [null, 'null'],
  [Number.NaN, 'NaN'],
  [10n, '10'],
  [Symbol('s'), 'Symbol(s)'],
  [{ a: [1, 'b'] }, '{"a":[1,"b"]}'],
  [(a: number) => a, '(a) => a'],
])('%s is shown as %s', (value, text) => {
  expect(show(value)).toBe(text);
});

it.each<[string, unknown, string]>([
  ['a list that is deeper than the stack', deep, 'a list'],
  ['an object that is deeper than the stack', { deep }, 'an object'],
  ['a cyclic value', cyclic, 'an object'],
  ['what cannot be written as JSON', { big: 1n }, 'an object'],
  ['what raises when it is written', { toJSON: () => JSON.parse('') }, 'an object'],
  ['a function without a text', Object.assign(() => {}, { toString: 1, valueOf: 1 }), 'a function'],
])('%s is told by its kind', (_, value, text) => {
  expect(show(value)).toBe(text);
});

it('an object whose text is of its own making is shown by what it holds', () => {
  expect(show({ toString: 1 })).toBe('{"toString":1}');
});
