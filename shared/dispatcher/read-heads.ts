import type { Db } from '../db/database.ts';
import { type Sql, sql } from '../db/sql.ts';
import type { ExecutionId, ManifestId, WorkQueueId } from '../model/ids.ts';
import { queueInOrder } from './admissible-work.ts';

export const MICROSECONDS_PER_MINUTE = 60_000_000;

/** An entry at the front of its group. */
export interface Head {
  id: WorkQueueId;
  groupId: number;
  manifestId: ManifestId | null;
  /** The waiting execution that the entry continues. */
  executionId: ExecutionId | null;
  pool: string;
  /** When it became available, minus its own and its group's priority in minutes. In microseconds, as exact as the database compares. */
  rankMicroseconds: number;
}

/** The part of a group's queue to read: the next `most` admissible entries behind `after`. */
export interface HeadRange {
  groupId: number;
  priority: number;
  after: Head | undefined;
  most: number;
}

/**
 * Reads the next admissible entries of several groups, each from the queue's index in order of rank. An entry that is blocked (its manifest is live,
 * dead-lettered or has a retry queued) or whose pool is full is stepped over on the way, which was measured at about 4 µs and half a µs. Fewer
 * entries than asked for mean that the group has no others.
 */
export async function readHeads(db: Db, ranges: HeadRange[], poolNames: string[]): Promise<Head[]> {
  const heads = await db.query<Head>(readingStatement(ranges, poolNames));
  const priorities = new Map(ranges.map(({ groupId, priority }) => [groupId, priority]));
  return heads.map((head) => ({
    ...head,
    rankMicroseconds: head.rankMicroseconds - priorities.get(head.groupId)! * MICROSECONDS_PER_MINUTE,
  }));
}

function readingStatement(ranges: HeadRange[], poolNames: string[]): Sql {
  const afterRanks = ranges.map(({ after, priority }) => after && after.rankMicroseconds + priority * MICROSECONDS_PER_MINUTE);
  return sql`
    select w.id, w.group_id as "groupId", w.manifest_id as "manifestId", w.execution_id as "executionId", w.pool,
           (extract(epoch from w.rank_at) * 1000000)::bigint as "rankMicroseconds"
      from (
        select id, most, coalesce(timestamptz 'epoch' + after_rank * interval '1 microsecond', '-infinity') as after_rank_at,
               coalesce(after_id, 0) as after_id
          from unnest(${ranges.map(({ groupId }) => groupId)}::bigint[], ${afterRanks}::bigint[], ${ranges.map(({ after }) => after?.id)}::bigint[],
                      ${ranges.map(({ most }) => most)}::bigint[]) g (id, after_rank, after_id, most)
      ) g
     cross join lateral (
       select * from ${queueInOrder(sql`g.id`, poolNames, sql`(w.rank_at, w.id) > (g.after_rank_at, g.after_id)`)} w
        where w.is_admissible limit g.most
     ) w`;
}
