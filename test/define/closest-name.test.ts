import fc from 'fast-check';
import { expect, it } from 'vitest';
import { closestName } from '../../shared/define/closest-name.ts';

it.each([
  ['extarct-data', 'extract-data', 'swapped neighbours'],
  ['extractdata', 'extract-data', 'a character too few'],
  ['exttract-data', 'extract-data', 'a character too many'],
  ['ektract-dada', 'extract-data', 'two wrong characters'],
  ['Extract_Data', 'extract-data', 'another way to write it'],
  ['laod', 'load', 'a short name'],
])('%s means %s: %s', (written, meant) => {
  expect(closestName(written, ['other', 'extract-date-2', meant, 'validate'])).toBe(meant);
});

it.each([
  ['extract', 'too much is missing'],
  ['lo', 'too short to be a misspelling of anything'],
  ['step-12', 'a sibling by its number'],
  ['', 'nothing'],
])('%s means none of them: %s', (written) => {
  expect(closestName(written, ['extract-data', 'load', 'loa', 'step-1', 'step-11'])).toBeUndefined();
});

it('the nearest of several is taken, and of equals the first', () => {
  expect(closestName('load-orders', ['load-borders', 'load-orderss', 'load-order'])).toBe('load-borders');
  expect(closestName('load-orders', ['loadd-orderss', 'load-order'])).toBe('load-order');
});

it('any two mistakes in a long name are found', () => {
  const alphabet = fc.constantFrom(...'abcdefgh');
  const name = fc.string({ unit: alphabet, minLength: 9, maxLength: 20 });
  const mistake = fc.record({ kind: fc.constantFrom('add', 'drop', 'replace', 'swap'), at: fc.nat(), character: alphabet });
  const make = (text: string, { kind, at, character }: { kind: string; at: number; character: string }) => {
    const place = at % (text.length - 1);
    const [before, here, next, after] = [text.slice(0, place), text[place]!, text[place + 1]!, text.slice(place + 2)];
    if (kind === 'add') return before + character + here + next + after;
    if (kind === 'drop') return before + next + after;
    return kind === 'replace' ? before + character + next + after : before + next + here + after;
  };
  fc.assert(
    fc.property(name, mistake, mistake, (meant, first, second) => {
      // A swap takes its two neighbours as they are: one that goes through an earlier one costs more.
      const isTangled = first.kind === 'swap' || second.kind === 'swap';
      const written = isTangled ? make(meant, first) : make(make(meant, first), second);
      if (written.length >= 8) expect(closestName(written, ['unrelated-name', meant])).toBe(meant);
    }),
    { numRuns: 2000 },
  );
});
