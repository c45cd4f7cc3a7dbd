import { sql } from '../db/sql.ts';
import type { WorkQueueId } from '../model/ids.ts';
import { isAdmissible } from './admissible-work.ts';
import type { ClaimContext } from './cycle.ts';
import type { Head } from './read-heads.ts';

/**
 * Locks the candidates' entries and judges them again, now that their manifests are locked: between the pick and the lock a run may have begun, a dead
 * letter been written, an entry cancelled, delayed or moved to another group, whose slots this claim has not counted. The group is compared outside: asked
 * for it, the planner may come from the index of groups instead of the ids.
 */
export async function lockEntries<Round extends { candidates: Head[] }>(round: Round, { db, pools }: ClaimContext): Promise<Round> {
  if (!round.candidates.length) return round;
  const rows = await db.query<{ id: WorkQueueId; groupId: number }>(sql`
    select w.id, w.group_id as "groupId" from waybill.work_queue w
     where w.id = any(${round.candidates.map(({ id }) => id)}::bigint[]) and w.status = 'queued' and ${isAdmissible(Object.keys(pools))}
     order by w.id for no key update skip locked`);
  const groupOf = new Map(rows.map(({ id, groupId }) => [id, groupId]));
  return { ...round, candidates: round.candidates.filter(({ id, groupId }) => groupOf.get(id) === groupId) };
}
