import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { app, every, InvalidAppError, type Scheduler } from '../../shared/index.ts';
import { type Edge, findCycle } from '../../shared/model/dependency-graph.ts';
import { define, mistakesOf, plain } from './use-mistakes.ts';

/** Whether names can be taken away one by one, each when nothing that is left leads to it: another way to ask for a circle than walking the edges. */
function hasCircle(edges: readonly Edge[]): boolean {
  let left = [...edges];
  while (left.length) {
    const children = new Set(left.map(({ child }) => child));
    const rest = left.filter(({ parent }) => children.has(parent));
    if (rest.length === left.length) return true;
    left = rest;
  }
  return false;
}

const isPath = (names: readonly string[], edges: readonly Edge[]) =>
  names.slice(1).every((child, index) => edges.some((edge) => edge.parent === names[index] && edge.child === child));

const nodeArbitrary = fc.integer({ min: 0, max: 7 }).map((number) => `m${number}`);
const edgesArbitrary = fc.array(fc.record({ parent: nodeArbitrary, child: nodeArbitrary }), { maxLength: 14 });

describe('a circle', () => {
  it('is found if and only if there is one, and what is found is one', () => {
    let circles = 0;
    fc.assert(
      fc.property(edgesArbitrary, (edges) => {
        const circle = findCycle(edges);
        expect(circle !== undefined).toBe(hasCircle(edges));
        if (!circle) return;
        circles++;
        expect(circle.length).toBeGreaterThan(1);
        expect(circle[0]).toBe(circle.at(-1));
        expect(new Set(circle).size).toBe(circle.length - 1);
        expect(isPath(circle, edges)).toBe(true);
      }),
      { numRuns: 2000 },
    );
    expect(circles).toBeGreaterThan(200);
  });

  const groupArbitrary = fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 8, maxLength: 8 });

  /** Every name is declared: below its parents, or on a schedule if it has none. */
  const declare = (edges: Edge[], groups: number[]) => (scheduler: Scheduler) => {
    groups.forEach((group, index) => {
      const id = `m${index}`;
      const dependsOn = edges.filter(({ child }) => child === id).map(({ parent }) => parent);
      if (dependsOn.length) scheduler.include(plain, id, {}, { dependsOn, group: `g${group}` });
      else scheduler.schedule(plain, id, {}, every.hours(1), { group: `g${group}` });
    });
  };

  it('of manifests or of groups refuses an app, with the names along it, and nothing else does', async () => {
    const seen = { manifests: 0, groups: 0 };
    const property = fc.asyncProperty(edgesArbitrary, groupArbitrary, async (edges, groups) => {
      const groupOf = (id: string) => `g${groups[Number(id.slice(1))]}`;
      const between = edges
        .map(({ parent, child }) => ({ parent: groupOf(parent), child: groupOf(child) }))
        .filter(({ parent, child }) => parent !== child);
      const error = await define(declare(edges, groups)).catch((caught: unknown) => caught);
      const mistakes = error instanceof InvalidAppError ? error.mistakes : [];
      expect(mistakes.length > 0).toBe(hasCircle(edges) || hasCircle(between));

      const manifestCircles = readAll(mistakes, /^circular dependency detected among manifests: (.*)$/, ' → ');
      const groupCircles = readAll(mistakes, /^Circular dependency detected among manifest groups: \[(.*)\]$/, ', ');
      expect(manifestCircles.length + groupCircles.length).toBe(mistakes.length);
      expect(manifestCircles.length > 0).toBe(hasCircle(edges));
      if (!hasCircle(edges)) expect(groupCircles.length > 0).toBe(hasCircle(between));
      for (const circle of manifestCircles) expect(circle[0] === circle.at(-1) && isPath(circle, edges)).toBe(true);
      for (const circle of groupCircles) expect(isPath([...circle, circle[0]!], between)).toBe(true);
      const used = manifestCircles.flatMap((circle) => circle.slice(1).map((child, index) => `${circle[index]} ${child}`));
      expect(new Set(used).size).toBe(used.length);
      seen.manifests += manifestCircles.length;
      seen.groups += groupCircles.length;
    });
    await fc.assert(property, { numRuns: 500 });
    expect(seen.manifests).toBeGreaterThan(50);
    expect(seen.groups).toBeGreaterThan(50);
  });
});

function readAll(mistakes: readonly string[], pattern: RegExp, separator: string): string[][] {
  return mistakes.map((mistake) => pattern.exec(mistake)).flatMap((found) => (found ? [found[1]!.split(separator)] : []));
}

it('several circles are reported together, one of groups only if it is not one of manifests already', async () => {
  const mistakes = await mistakesOf(
    define((scheduler) => {
      scheduler.include(plain, 'self', {}, { dependsOn: 'self' });
      scheduler.include(plain, 'a', {}, { dependsOn: 'b' }).include(plain, 'b', {}, { dependsOn: 'a' });
      scheduler
        .schedule(plain, 'x1', {}, every.hours(1), { group: 'x' })
        .thenInclude(plain, 'y1', {}, { group: 'y' })
        .thenInclude(plain, 'z1', {}, { group: 'z' })
        .thenInclude(plain, 'x2', {}, { group: 'x' });
    }),
  );
  expect(mistakes).toEqual([
    'circular dependency detected among manifests: self → self',
    'circular dependency detected among manifests: b → a → b',
    'Circular dependency detected among manifest groups: [x, y, z]',
  ]);
});

it('two circles through one manifest are two mistakes', async () => {
  const mistakes = await mistakesOf(
    define((scheduler) =>
      scheduler
        .include(plain, 'hub', {}, { dependsOn: ['left', 'right'], group: 'g' })
        .include(plain, 'left', {}, { dependsOn: 'hub', group: 'g' })
        .include(plain, 'right', {}, { dependsOn: 'hub', group: 'g' }),
    ),
  );
  expect(mistakes).toEqual([
    'circular dependency detected among manifests: left → hub → left',
    'circular dependency detected among manifests: right → hub → right',
  ]);
});

it('edges inside a group are fine, and a parent of another app is in no group of this one', async () => {
  const definition = await define((scheduler) => {
    scheduler.schedule(plain, 'one', {}, every.hours(1), { group: 'g' }).thenInclude(plain, 'two', {}, { group: 'g' });
    // Another app's manifest that happens to be called like a group of this one.
    scheduler.include(plain, 'three', {}, { dependsOn: { externalId: 'elsewhere' }, group: 'h' });
    scheduler.include(plain, 'four', {}, { dependsOn: 'three', group: 'elsewhere' });
  });
  expect(definition.manifests).toHaveLength(4);
});

it('a chain of 20,000 is judged without exhausting the stack', async () => {
  const manifests = (scheduler: Scheduler) => {
    scheduler.schedule(plain, 'n0', {}, every.hours(1), { group: 'g' });
    for (let index = 1; index < 20_000; index++) scheduler.thenInclude(plain, `n${index}`, {}, { group: 'g' });
  };
  const definition = await app({ name: 'long', workflows: [plain], manifests }).toDefinition();
  expect(definition.manifests).toHaveLength(20_000);
});
