import type { Db } from '../db/database.ts';
import type { GroupSlots } from './count-group-slots.ts';
import type { PoolSlots } from './count-pool-slots.ts';
import { type GroupReading, mergeHeads } from './merge-heads.ts';
import { type Head, readHeads } from './read-heads.ts';

export interface FreeSlots {
  limit: number;
  groups: GroupSlots[];
  pools: PoolSlots[];
}

/**
 * Picks the best entries that fit into the free slots: a few of each group, and on only in groups where the next one could still be among the best.
 * Over two hundred groups this reads two or three times what it takes; a whole claim's worth of every group would be a hundred times as much.
 */
export async function pickEntries(db: Db, { limit, groups, pools }: FreeSlots): Promise<Head[]> {
  const slots = { limit, groups: groups.map(startReading), pools: new Map(pools.map(({ name, free }) => [name, free])) };
  let heads: Head[] = [];
  let merged = mergeHeads(heads, slots);
  while (merged.openGroups.length) {
    const share = Math.ceil((2 * limit) / merged.openGroups.length);
    const ranges = merged.openGroups.map(({ id, priority, free, last }) => ({
      groupId: id,
      priority,
      after: last,
      most: Math.min(share, free),
    }));
    const read = await readHeads(db, ranges, merged.openPools);
    const readOfGroup = Map.groupBy(read, ({ groupId }) => groupId);
    merged.openGroups.forEach((group, index) => {
      const ofGroup = readOfGroup.get(group.id) ?? [];
      group.hasMore = ofGroup.length === ranges[index]!.most;
      group.last = ofGroup.at(-1) ?? group.last;
    });
    heads = heads.concat(read);
    merged = mergeHeads(heads, slots);
  }
  return merged.taken;
}

function startReading({ id, priority, free }: GroupSlots): GroupReading {
  return { id, priority, free: free ?? Number.POSITIVE_INFINITY, last: undefined, hasMore: true };
}
