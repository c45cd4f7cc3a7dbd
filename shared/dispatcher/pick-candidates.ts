import { countGroupSlots } from './count-group-slots.ts';
import { countPoolSlots } from './count-pool-slots.ts';
import type { ClaimContext } from './cycle.ts';
import { type GroupReading, type Merged, mergeHeads } from './merge-heads.ts';
import { type Head, readHeads } from './read-heads.ts';

/** So that a group whose best entries come close together is rarely read twice. */
const FEWEST_READ_PER_GROUP = 2;

/**
 * Picks the best entries of the locked groups: a few of each, and on only in groups where the next one could still be among the best. Over two
 * hundred groups this reads about twice what it takes, where a full claim's worth of every group would be a hundred times as much.
 */
export async function pickCandidates<Round extends { freeSlots: number; groupIds: number[] }>(
  round: Round,
  { db, pools }: ClaimContext,
): Promise<Round & { candidates: Head[] }> {
  if (!round.groupIds.length) return { ...round, candidates: [] };
  const slots = {
    limit: round.freeSlots,
    groups: (await countGroupSlots(db, round.groupIds)).map(startReading),
    pools: new Map((await countPoolSlots(db, pools)).map(({ name, free }) => [name, free])),
  };
  const heads: Head[] = [];
  let merged: Merged = mergeHeads(heads, slots);
  while (merged.openGroups.length) {
    const share = Math.max(Math.ceil((2 * slots.limit) / merged.openGroups.length), FEWEST_READ_PER_GROUP);
    const ranges = merged.openGroups.map((group) => toRange(group, share));
    const read = await readHeads(db, ranges, merged.openPools);
    const readOfGroup = Map.groupBy(read, ({ groupId }) => groupId);
    merged.openGroups.forEach((group, index) => {
      const ofGroup = readOfGroup.get(group.id) ?? [];
      group.hasMore = ofGroup.length === ranges[index]!.most;
      group.last = ofGroup.at(-1) ?? group.last;
    });
    heads.push(...read);
    merged = mergeHeads(heads, slots);
  }
  return { ...round, candidates: merged.taken };
}

function startReading({ id, priority, free }: { id: number; priority: number; free: number | null }): GroupReading {
  return { id, priority, free: free ?? Number.POSITIVE_INFINITY, last: undefined, hasMore: true };
}

function toRange({ id, priority, free, last }: GroupReading, share: number) {
  return { groupId: id, priority, after: last, most: Math.min(share, free) };
}
