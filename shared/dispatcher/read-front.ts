import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { WorkQueueId } from '../model/ids.ts';
import { compareHeads } from './merge-heads.ts';
import { type Head, MICROSECONDS_PER_MINUTE } from './read-heads.ts';

type Place = Pick<Head, 'rankMicroseconds' | 'id'>;

/** The first entries of the whole queue in order of rank, blocked ones and those of full groups included. */
export interface Front {
  /** Their groups, and those whose priority may bring an entry before them from anywhere. */
  groupIds: number[];
  /** Whether an entry in none of these groups might come before this one. */
  mayBeBehindOthers(head: Place): boolean;
  /** There are no other groups. */
  isWhole: boolean;
}

/**
 * Where a claim may find the best entries when more groups have work than it could ask one by one. An entry that is in none of these groups comes after the last one
 * read, if its group adds nothing to its rank; and if it does, not before the first one by more than the priority of the groups that were left out.
 */
export async function readFront(db: Db, most: number): Promise<Front> {
  const entries = await readEntries(db, most);
  const [first] = entries;
  if (!first) return { groupIds: [], mayBeBehindOthers: () => false, isWhole: true };
  const last = first.entryCount < most ? undefined : { rankMicroseconds: first.lastRankMicroseconds, id: first.lastId };
  const preferred = await readPreferred(db, most);
  const restPriority = preferred.length < most ? 0 : preferred.at(-1)!.priority;
  const earliestOfRest = first.firstRankMicroseconds - restPriority * MICROSECONDS_PER_MINUTE;
  return {
    groupIds: [...new Set([...entries.map(({ groupId }) => groupId), ...preferred.map(({ id }) => id)])],
    mayBeBehindOthers: (head) =>
      (last !== undefined && compareHeads(head, last) > 0) || (restPriority > 0 && head.rankMicroseconds >= earliestOfRest),
    isWhole: !last && restPriority === 0,
  };
}

interface FrontGroup {
  groupId: number;
  /** Of all groups together. */
  entryCount: number;
  firstRankMicroseconds: number;
  lastRankMicroseconds: number;
  lastId: WorkQueueId;
}

function readEntries(db: Db, most: number): Promise<FrontGroup[]> {
  return db.query<FrontGroup>(sql`
    with front as materialized (
      select w.group_id, w.rank_at, w.id from waybill.work_queue w
       where w.status = 'queued' and w.priority >= 0 and w.rank_at <= (select waybill.now()) order by w.rank_at, w.id limit ${most}
    )
    select f.group_id as "groupId", whole.entry_count as "entryCount", (extract(epoch from whole.first_rank_at) * 1000000)::bigint as "firstRankMicroseconds",
           (extract(epoch from last.rank_at) * 1000000)::bigint as "lastRankMicroseconds", last.id as "lastId"
      from (select distinct group_id from front) f
     cross join (select count(*) as entry_count, min(rank_at) as first_rank_at from front) whole
     cross join (select rank_at, id from front order by rank_at desc, id desc limit 1) last`);
}

/** The groups with work that bring it forward the most. */
function readPreferred(db: Db, most: number): Promise<{ id: number; priority: number }[]> {
  return db.query<{ id: number; priority: number }>(sql`
    select g.id, g.priority from waybill.manifest_group g
     where g.priority > 0 and exists (
       select from waybill.work_queue w where w.group_id = g.id and w.status = 'queued' and w.rank_at <= (select waybill.now()) offset 0)
     order by g.priority desc, g.id limit ${most}`);
}
