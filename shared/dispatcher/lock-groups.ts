import { sql } from '../db/sql.ts';
import { type ChosenGroups, chooseGroups } from './choose-groups.ts';
import { countPoolSlots } from './count-pool-slots.ts';
import type { ClaimContext } from './cycle.ts';

/**
 * Locks the groups that this claim may admit from. It waits for them: another claim that holds one is over in milliseconds, and to pass over it would lose
 * the wake-up that brought this claim about. A group without a lock on it is never admitted from, so two claims never count the same free slot.
 */
export async function lockGroups<Round extends { freeSlots: number }>(
  round: Round,
  { db, pools }: ClaimContext,
): Promise<Round & ChosenGroups> {
  const none = { ...round, groupIds: [], isNarrowed: false };
  if (round.freeSlots === 0) return none;
  const freePools = (await countPoolSlots(db, pools)).filter(({ free }) => free > 0);
  if (!freePools.length) return none;
  const { groupIds, isNarrowed } = await chooseGroups(db, { limit: round.freeSlots, pools: freePools });
  if (!groupIds.length) return none;
  const locked = await db.query<{ id: number }>(sql`
    select id from waybill.manifest_group where id = any(${groupIds}::bigint[]) order by id for no key update`);
  return { ...round, groupIds: locked.map(({ id }) => id), isNarrowed };
}
