import { countGroupSlots } from './count-group-slots.ts';
import { countPoolSlots } from './count-pool-slots.ts';
import type { ClaimContext } from './cycle.ts';
import { pickEntries } from './pick-entries.ts';
import type { Head } from './read-heads.ts';

/** Picks what to admit from the locked groups. Their slots are counted here, after the lock, and nobody else can take one before this claim commits. */
export async function pickCandidates<Round extends { freeSlots: number; groupIds: number[] }>(
  round: Round,
  { db, pools }: ClaimContext,
): Promise<Round & { candidates: Head[] }> {
  if (!round.groupIds.length) return { ...round, candidates: [] };
  const candidates = await pickEntries(db, {
    limit: round.freeSlots,
    groups: await countGroupSlots(db, round.groupIds),
    pools: await countPoolSlots(db, pools),
  });
  return { ...round, candidates };
}
