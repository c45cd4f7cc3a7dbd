import type { Head } from './read-heads.ts';

/** What is free, and how far each group has been read. */
export interface Slots {
  limit: number;
  groups: GroupReading[];
  pools: Map<string, number>;
}

export interface GroupReading {
  id: number;
  priority: number;
  free: number;
  /** The last entry read; none before the first read. */
  last: Head | undefined;
  hasMore: boolean;
}

export interface Merged {
  taken: Head[];
  /** Groups and pools in which an entry that was not read yet may come before one that was taken, or into a slot that is still free. */
  openGroups: GroupReading[];
  openPools: string[];
}

export function compareHeads(a: Pick<Head, 'rankMicroseconds' | 'id'>, b: Pick<Head, 'rankMicroseconds' | 'id'>): number {
  return a.rankMicroseconds - b.rankMicroseconds || a.id - b.id;
}

/**
 * Takes the best entries that fit, by effective priority and age, and tells where to read on. Per group and pool a slot is used by whoever comes first.
 *
 * What is left to read of a group comes after its last entry. So it cannot matter once the group's slots are taken, or when the claim is full
 * and its last entry comes before that one, or of a pool whose slots were all taken before that one. When nothing is open any more, the entries taken
 * are those that would have been taken if everything had been read.
 */
export function mergeHeads(heads: Head[], { limit, groups, pools }: Slots): Merged {
  const freeOfGroup = new Map(groups.map(({ id, free }) => [id, free]));
  const freeOfPool = new Map(pools);
  const lastOfPool = new Map<string, Head>();
  const taken: Head[] = [];
  for (const head of heads.toSorted(compareHeads)) {
    if (taken.length === limit) break;
    const groupFree = freeOfGroup.get(head.groupId) ?? 0;
    const poolFree = freeOfPool.get(head.pool) ?? 0;
    if (groupFree === 0 || poolFree === 0) continue;
    freeOfGroup.set(head.groupId, groupFree - 1);
    freeOfPool.set(head.pool, poolFree - 1);
    lastOfPool.set(head.pool, head);
    taken.push(head);
  }
  const worst = taken.length === limit ? taken.at(-1) : undefined;
  const isBehind = (group: GroupReading, head: Head | undefined) => !head || !group.last || compareHeads(group.last, head) < 0;
  const isPoolOpen = (group: GroupReading, pool: string) => freeOfPool.get(pool)! > 0 || isBehind(group, lastOfPool.get(pool));
  const names = [...pools].filter(([, free]) => free > 0).map(([name]) => name);
  const openGroups = groups.filter(
    (group) => group.hasMore && freeOfGroup.get(group.id)! > 0 && isBehind(group, worst) && names.some((pool) => isPoolOpen(group, pool)),
  );
  return { taken, openGroups, openPools: names.filter((pool) => openGroups.some((group) => isPoolOpen(group, pool))) };
}
