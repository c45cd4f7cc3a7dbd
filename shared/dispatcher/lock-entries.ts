import { sql } from '../db/sql.ts';
import type { WorkQueueId } from '../model/ids.ts';
import { isAdmissible } from './admissible-work.ts';
import type { ClaimContext } from './cycle.ts';
import type { Head } from './read-heads.ts';

/**
 * Locks the candidates' entries and judges them again, now that their manifests are locked: between the pick and the lock a run may have begun, a dead
 * letter been written, an entry cancelled, delayed or moved to another group, whose slots this claim has not counted.
 */
export async function lockEntries<Round extends { candidates: Head[] }>(round: Round, { db, pools }: ClaimContext): Promise<Round> {
  if (!round.candidates.length) return round;
  const rows = await db.query<{ id: WorkQueueId }>(sql`
    select w.id
      from unnest(${round.candidates.map(({ id }) => id)}::bigint[], ${round.candidates.map(({ groupId }) => groupId)}::bigint[]) c (id, group_id)
      join waybill.work_queue w on w.id = c.id and w.group_id = c.group_id
     where w.status = 'queued' and ${isAdmissible(Object.keys(pools))}
     order by w.id for no key update of w skip locked`);
  const locked = new Set(rows.map(({ id }) => id));
  return { ...round, candidates: round.candidates.filter(({ id }) => locked.has(id)) };
}
