import { sql } from '../db/sql.ts';
import { countPoolSlots } from './count-pool-slots.ts';
import type { ClaimContext } from './cycle.ts';
import { findGroups } from './find-groups.ts';
import { pickEntries } from './pick-entries.ts';

export interface LockedGroups {
  groupIds: number[];
  /** More groups had work than could be concerned. */
  isNarrowed: boolean;
}

/**
 * Locks the groups that this claim may admit from. It waits for them: another claim that holds one is over in milliseconds, and to pass over it would lose
 * the wake-up that brought this claim about. A group without a lock on it is never admitted from, so two claims never count the same free slot.
 *
 * When more groups have work than may be admitted, the pick is made once without locks, to lock no more than it comes from.
 */
export async function lockGroups<Round extends { freeSlots: number }>(
  round: Round,
  { db, pools }: ClaimContext,
): Promise<Round & LockedGroups> {
  const none = { ...round, groupIds: [], isNarrowed: false };
  if (round.freeSlots === 0) return none;
  const freePools = (await countPoolSlots(db, pools)).filter(({ free }) => free > 0);
  if (!freePools.length) return none;
  const groups = await findGroups(db);
  const isNarrowed = groups.length > round.freeSlots;
  const concerned = isNarrowed
    ? (await pickEntries(db, { limit: round.freeSlots, groups, pools: freePools })).map(({ groupId }) => groupId)
    : groups.map(({ id }) => id);
  if (!concerned.length) return none;
  const locked = await db.query<{ id: number }>(sql`
    select id from waybill.manifest_group where id = any(${concerned}::bigint[]) order by id for no key update`);
  return { ...round, groupIds: locked.map(({ id }) => id), isNarrowed };
}
