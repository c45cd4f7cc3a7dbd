import type { Db } from '../db/database.ts';
import type { PoolSlots } from './count-pool-slots.ts';
import { findOpenGroups, walkGroups } from './find-groups.ts';
import { pickEntries } from './pick-entries.ts';
import { readFront } from './read-front.ts';

/** So many groups are asked one by one, for some 10 µs each; with more, the queue is read in its own order. */
const MOST_WALKED = 300;
/** Entries read for each that may be admitted; some of them are blocked or belong to full groups. When too many do, this often as many are read next time. */
const READ_PER_SLOT = 4;
const GROWTH = 8;

export interface ChosenGroups {
  groupIds: number[];
  /** More groups had work than could be concerned. */
  isNarrowed: boolean;
}

/**
 * Finds the groups from which the best entries come, without a lock. Manifests have groups of their own unless they share one, so in a burst nearly every entry may have another
 * group: then the front of the queue is read until the best of it fill every slot, which makes a claim cost what it admits and not what is queued.
 */
export async function chooseGroups(db: Db, { limit, pools }: { limit: number; pools: PoolSlots[] }): Promise<ChosenGroups> {
  const walked = await walkGroups(db, MOST_WALKED + 1);
  if (walked.length <= MOST_WALKED) {
    const groups = await findOpenGroups(db, walked);
    if (groups.length <= limit) return { groupIds: groups.map(({ id }) => id), isNarrowed: false };
    return narrowed(await pickEntries(db, { limit, groups, pools }));
  }
  const slotCount = Math.min(
    limit,
    pools.reduce((sum, { free }) => sum + free, 0),
  );
  for (let most = READ_PER_SLOT * slotCount; ; most *= GROWTH) {
    const { groupIds, mayBeBehindOthers, isWhole } = await readFront(db, most);
    const picked = await pickEntries(db, { limit, groups: await findOpenGroups(db, groupIds), pools });
    // With slots left over, or with an entry that others may come before, one that was not read may be among the best.
    if (isWhole || (picked.length === slotCount && !picked.some(mayBeBehindOthers))) return narrowed(picked);
  }
}

function narrowed(picked: { groupId: number }[]): ChosenGroups {
  return { groupIds: picked.map(({ groupId }) => groupId), isNarrowed: true };
}
