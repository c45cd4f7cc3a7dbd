import fc from 'fast-check';
import { expect, it } from 'vitest';
import { compareHeads, type GroupReading, mergeHeads } from '../../shared/dispatcher/merge-heads.ts';
import type { Head } from '../../shared/dispatcher/read-heads.ts';
import type { WorkQueueId } from '../../shared/model/ids.ts';

const POOLS = ['small', 'large', 'heavy'];

const headArbitrary = fc.record({
  groupId: fc.integer({ min: 1, max: 6 }),
  pool: fc.constantFrom(...POOLS),
  rankMicroseconds: fc.integer({ min: 0, max: 40 }),
});
const worldArbitrary = fc.record({
  heads: fc
    .array(headArbitrary, { maxLength: 80 })
    .map((heads): Head[] => heads.map((head, index) => ({ ...head, id: (index + 1) as WorkQueueId, manifestId: null, executionId: null }))),
  frees: fc.array(fc.oneof(fc.integer({ min: 0, max: 6 }), fc.constant(Number.POSITIVE_INFINITY)), { minLength: 6, maxLength: 6 }),
  poolFrees: fc.array(fc.integer({ min: 0, max: 12 }), { minLength: 3, maxLength: 3 }),
  limit: fc.integer({ min: 1, max: 20 }),
  share: fc.integer({ min: 1, max: 5 }),
});

/** What would be taken if everything had been read. */
function takeAll(heads: Head[], frees: number[], poolFrees: number[], limit: number): number[] {
  const groups = [Number.NaN, ...frees];
  const pools = Object.fromEntries(POOLS.map((name, index) => [name, poolFrees[index]!]));
  const taken: number[] = [];
  for (const head of heads.toSorted(compareHeads)) {
    if (taken.length === limit || groups[head.groupId]! <= 0 || pools[head.pool]! <= 0) continue;
    groups[head.groupId]!--;
    pools[head.pool]!--;
    taken.push(head.id);
  }
  return taken;
}

it('takes exactly what it would take had it read everything, however little of each group it reads at a time', () => {
  fc.assert(
    fc.property(worldArbitrary, ({ heads, frees, poolFrees, limit, share }) => {
      const groups = frees.map((free, index): GroupReading => ({ id: index + 1, priority: 0, free, last: undefined, hasMore: true }));
      const pools = new Map(POOLS.map((name, index) => [name, poolFrees[index]!]));
      const known: Head[] = [];
      let merged = mergeHeads(known, { limit, groups, pools });
      for (let rounds = 0; merged.openGroups.length; rounds++) {
        if (rounds > heads.length + groups.length) throw new Error('it reads on for ever');
        for (const group of merged.openGroups) {
          const rest = heads
            .filter(({ groupId, pool }) => groupId === group.id && merged.openPools.includes(pool))
            .filter((head) => !group.last || compareHeads(group.last, head) < 0)
            .toSorted(compareHeads);
          const most = Math.min(share, group.free);
          const read = rest.slice(0, most);
          known.push(...read);
          group.hasMore = read.length === most;
          group.last = read.at(-1) ?? group.last;
        }
        merged = mergeHeads(known, { limit, groups, pools });
      }
      expect(merged.taken.map(({ id }) => id)).toEqual(takeAll(heads, frees, poolFrees, limit));
    }),
    { numRuns: 2_000 },
  );
});

it('does not read on in a group whose next entries cannot be among the best', () => {
  const head = (id: number, groupId: number, rankMicroseconds: number): Head => ({
    id: id as WorkQueueId,
    groupId,
    rankMicroseconds,
    pool: 'small',
    manifestId: null,
    executionId: null,
  });
  const early = [head(1, 1, 10), head(2, 1, 20)];
  const late = [head(3, 2, 15), head(4, 2, 90)];
  const groups = [early, late].map(
    (heads, index): GroupReading => ({ id: index + 1, priority: 0, free: 100, last: heads.at(-1), hasMore: true }),
  );
  const merged = mergeHeads([...early, ...late], { limit: 4, groups, pools: new Map([['small', 100]]) });
  expect(merged.openGroups.map(({ id }) => id)).toEqual([1]);
});
