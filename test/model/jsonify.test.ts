import { expect, expectTypeOf, it } from 'vitest';
import type { Jsonify } from '../../shared/model/jsonify.ts';

/** What the type promises is what the value becomes. */
function written<T>(value: T): Jsonify<T> {
  return JSON.parse(JSON.stringify(value) ?? 'null');
}

it('what JSON can say stays as it is', () => {
  const value = { name: 'x', count: 3, isDone: true, nothing: null, list: [1, 2], deep: { pair: ['a', 1] as [string, number] } };
  expect(written(value)).toEqual(value);
  expectTypeOf(written(value)).toEqualTypeOf<typeof value>();
  expectTypeOf<Jsonify<'a' | 'b' | null>>().toEqualTypeOf<'a' | 'b' | null>();
});

it('a date is a string, and so is whatever says of itself that it is one', () => {
  const value = { at: new Date(0), href: new URL('https://example.org/') };
  expect(written(value)).toEqual({ at: '1970-01-01T00:00:00.000Z', href: 'https://example.org/' });
  expectTypeOf(written(value)).toEqualTypeOf<{ at: string; href: string }>();
  // @ts-expect-error: it is no date any more.
  expect(() => written(new Date(0)).getTime()).toThrow();
});

it('a member that may be undefined may be missing, one that always is does not exist', () => {
  const value: { given: string; maybe: number | undefined; optional?: Date; never: undefined; act: () => void } = {
    given: 'x',
    maybe: undefined,
    never: undefined,
    act: () => {},
  };
  expect(written(value)).toEqual({ given: 'x' });
  expect(Object.keys(written(value))).toEqual(['given']);
  expectTypeOf(written(value)).toEqualTypeOf<{ given: string; maybe?: number; optional?: string }>();
});

it('nothing is null, at the top and in a list', () => {
  expect(written(undefined)).toBeNull();
  expect(written([1, undefined, () => 1])).toEqual([1, null, null]);
  expectTypeOf<Jsonify<undefined>>().toEqualTypeOf<null>();
  expectTypeOf<Jsonify<void>>().toEqualTypeOf<null>();
  expectTypeOf<Jsonify<(number | undefined)[]>>().toEqualTypeOf<(number | null)[]>();
});

it('a map and a set are empty objects', () => {
  expect(written(new Map([['a', 1]]))).toEqual({});
  expectTypeOf<Jsonify<Map<string, number>>>().toEqualTypeOf<Record<string, never>>();
  expectTypeOf<Jsonify<{ seen: Set<string> }>>().toEqualTypeOf<{ seen: Record<string, never> }>();
});

it('an object of a class keeps its fields and loses its methods', () => {
  class Point {
    readonly x: number = 1;
    move(): void {}
  }
  expect(written(new Point())).toEqual({ x: 1 });
  expectTypeOf<Jsonify<Point>>().toEqualTypeOf<{ x: number }>();
});

it('functions, symbols and big integers cannot be recorded, and what is unknown stays so', () => {
  expectTypeOf<Jsonify<() => void>>().toEqualTypeOf<never>();
  expectTypeOf<Jsonify<symbol>>().toEqualTypeOf<never>();
  expectTypeOf<Jsonify<bigint>>().toEqualTypeOf<never>();
  expectTypeOf<Jsonify<unknown>>().toEqualTypeOf<unknown>();
  expectTypeOf<Jsonify<{ rows: unknown }>>().toEqualTypeOf<{ rows: unknown }>();
  expectTypeOf<Jsonify<Record<string, Date>>>().toEqualTypeOf<Record<string, string>>();
});
