import { expect, it } from 'vitest';
import { claimQueuedWork } from '../../shared/dispatcher/cycle.ts';
import type { WorkQueueId } from '../../shared/model/ids.ts';
import { useFreshEngine } from '../support/engine.ts';
import { completeExecutions, createGroup, type EntryToQueue, entriesOf, liveExecutions, poolOf, queueEntries } from './queue-work.ts';

const engine = useFreshEngine();
const MINUTE = 60_000_000;

/** Numbers that look random and are the same in every run. */
function sequence(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

interface QueuedEntry extends EntryToQueue {
  id: WorkQueueId;
}

/** What the next claim must admit, in this order: by effective priority and age, whatever still fits into its group, its pool and the claim. */
function expectClaim(
  queued: QueuedEntry[],
  groups: { id: number; priority: number; free: number }[],
  pools: Record<string, number>,
  limit: number,
): WorkQueueId[] {
  const groupOf = new Map(groups.map((group) => [group.id, { ...group }]));
  const freeOfPool = { ...pools };
  const rank = ({ groupId, priority = 0, ageMicroseconds = 0 }: QueuedEntry) =>
    -ageMicroseconds - (priority + groupOf.get(groupId)!.priority) * MINUTE;
  const expected: WorkQueueId[] = [];
  for (const entry of queued.toSorted((a, b) => rank(a) - rank(b) || a.id - b.id)) {
    const group = groupOf.get(entry.groupId)!;
    if (entry.ageMicroseconds! < 0 || expected.length === limit || group.free === 0 || !freeOfPool[entry.pool!]) continue;
    group.free--;
    freeOfPool[entry.pool!]!--;
    expected.push(entry.id);
  }
  return expected;
}

/** A few groups with priorities of their own, or so many that they are not asked one by one, of which few or all have any. */
const worlds = [
  ...[1, 2, 3].map((seed) => ({ seed, groupCount: 12, entryCount: 400, isPreferred: () => true })),
  ...[4, 5].map((seed) => ({ seed, groupCount: 500, entryCount: 900, isPreferred: (index: number) => index % 40 === 0 })),
  { seed: 6, groupCount: 500, entryCount: 900, isPreferred: () => true },
];

it.each(worlds)(
  'admits by effective priority, then age, whatever fits into group, pool and claim ($groupCount groups, world $seed)',
  async (world) => {
    const random = sequence(world.seed);
    const groups: { id: number; priority: number; cap: number }[] = [];
    for (let index = 0; index < world.groupCount; index++) {
      const cap = [Number.POSITIVE_INFINITY, 1, 3, 8][index % 4]!;
      const priority = world.isPreferred(index) ? random(32) : 0;
      const maxActiveJobs = Number.isFinite(cap) ? cap : null;
      groups.push({ id: await createGroup(engine, `group-${index}`, { maxActiveJobs, priority }), priority, cap });
    }
    const limits: Record<string, number> = { default: 10, heavy: 4, light: 40 };
    const pools = Object.fromEntries(Object.entries(limits).map(([name, limit]) => [name, poolOf(limit)]));
    const entries = Array.from({ length: world.entryCount }, (): EntryToQueue => {
      // Some tie on rank to the microsecond, some lie a microsecond apart, some are not available yet.
      const ageMicroseconds = (random(45) - 5) * MINUTE + [0, 0, 1, 7][random(4)]!;
      return {
        groupId: groups[random(groups.length)]!.id,
        priority: random(64),
        pool: ['default', 'heavy', 'light'][random(3)]!,
        ageMicroseconds,
      };
    });
    const ids = await queueEntries(engine, entries);
    let queued = entries.map((entry, index): QueuedEntry => ({ ...entry, id: ids[index]! }));

    let admittedCount = 0;
    for (let round = 0; ; round++) {
      const live = await liveExecutions(engine);
      const limit = 1 + random(30);
      const expected = expectClaim(
        queued,
        groups.map(({ id, priority, cap }) => ({ id, priority, free: cap - live.filter(({ groupId }) => groupId === id).length })),
        Object.fromEntries(Object.entries(limits).map(([name, most]) => [name, most - live.filter(({ pool }) => pool === name).length])),
        limit,
      );
      const { admitted } = await claimQueuedWork(engine.database, { pools, limit });
      expect(await entriesOf(engine, admitted), `claim ${round} of ${limit}`).toEqual(expected);
      queued = queued.filter(({ id }) => !expected.includes(id));
      admittedCount += expected.length;
      if (!expected.length && !live.length) break;
      const now = await liveExecutions(engine);
      await completeExecutions(
        engine,
        now.filter(() => random(3) > 0).map(({ id }) => id),
      );
    }
    expect(admittedCount).toBe(entries.filter(({ ageMicroseconds }) => ageMicroseconds! >= 0).length);
  },
);

it('admits a long-waiting entry of low priority before a new one of higher priority: a minute is worth a point', async () => {
  const groupId = await createGroup(engine, 'etl', { maxActiveJobs: 1 });
  const [fresh, old] = await queueEntries(engine, [
    { groupId, priority: 10, ageMicroseconds: 0 },
    { groupId, priority: 0, ageMicroseconds: 10 * MINUTE + 1 },
  ]);
  const pools = { default: poolOf(10) };
  const first = await claimQueuedWork(engine.database, { pools, limit: 10 });
  await completeExecutions(engine, await liveExecutions(engine).then((live) => live.map(({ id }) => id)));
  const second = await claimQueuedWork(engine.database, { pools, limit: 10 });
  expect(await entriesOf(engine, [...first.admitted, ...second.admitted])).toEqual([old, fresh]);
});

it('shares the slots of the whole between groups that queued at the same time', async () => {
  await engine.database.query({ text: 'update waybill.capacity set max_active_jobs = 6', values: [] });
  const groupIds: number[] = [];
  for (const name of ['a', 'b', 'c']) groupIds.push(await createGroup(engine, name));
  await queueEntries(
    engine,
    Array.from({ length: 60 }, (_, index) => ({ groupId: groupIds[index % 3]! })),
  );
  await claimQueuedWork(engine.database, { pools: { default: poolOf(100) }, limit: 100 });
  const counts = Object.groupBy(await liveExecutions(engine), ({ groupId }) => groupId);
  expect(groupIds.map((id) => counts[id]?.length)).toEqual([2, 2, 2]);
});

it.each([20, 800])(
  'a pool with few slots does not hide the work of another, even if %i groups have work and one claim may take ten',
  async (count) => {
    const limit = 10;
    const groupIds: number[] = [];
    for (let index = 0; index < count; index++) groupIds.push(await createGroup(engine, `group-${index}`));
    await queueEntries(
      engine,
      groupIds.map((groupId, index) =>
        index < count / 2 ? { groupId, pool: 'scarce', ageMicroseconds: MINUTE } : { groupId, pool: 'plenty' },
      ),
    );
    const { admitted } = await claimQueuedWork(engine.database, { pools: { scarce: poolOf(2), plenty: poolOf(100) }, limit });
    expect(admitted.map(({ pool }) => pool)).toEqual(['scarce', 'scarce', ...Array(limit - 2).fill('plenty')]);
  },
);
