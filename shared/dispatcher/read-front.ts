import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { WorkQueueId } from '../model/ids.ts';

/** The first entries of the whole queue in order of rank, blocked ones and those of full groups included. */
export interface Front {
  /** Their groups, and those whose priority may bring an entry before them from anywhere. */
  groupIds: number[];
  /** The last of them; none, when that was the whole queue. */
  last: { rankMicroseconds: number; id: WorkQueueId } | undefined;
}

/**
 * Where a claim may find the best entries when more groups have work than it could ask one by one. Every entry that is in none of these groups comes after the last one read:
 * it ranks behind, and its group adds nothing.
 */
export async function readFront(db: Db, most: number): Promise<Front> {
  const rows = await db.query<{ groupId: number; entryCount: number; lastRankMicroseconds: number; lastId: WorkQueueId }>(sql`
    with front as materialized (
      select w.group_id, w.rank_at, w.id from waybill.work_queue w
       where w.status = 'queued' and w.priority >= 0 and w.rank_at <= (select waybill.now()) order by w.rank_at, w.id limit ${most}
    )
    select f.group_id as "groupId", count(*) as "entryCount", (extract(epoch from last.rank_at) * 1000000)::bigint as "lastRankMicroseconds", last.id as "lastId"
      from front f cross join (select rank_at, id from front order by rank_at desc, id desc limit 1) last
     group by f.group_id, last.rank_at, last.id`);
  const [first] = rows;
  if (!first) return { groupIds: [], last: undefined };
  const entryCount = rows.reduce((sum, row) => sum + row.entryCount, 0);
  const last = { rankMicroseconds: first.lastRankMicroseconds, id: first.lastId };
  const preferred = await findPreferred(db);
  return { groupIds: [...new Set([...rows.map(({ groupId }) => groupId), ...preferred])], last: entryCount < most ? undefined : last };
}

async function findPreferred(db: Db): Promise<number[]> {
  const rows = await db.query<{ id: number }>(sql`
    select g.id from waybill.manifest_group g
     where g.priority > 0 and exists (
       select from waybill.work_queue w where w.group_id = g.id and w.status = 'queued' and w.rank_at <= (select waybill.now()) offset 0)`);
  return rows.map(({ id }) => id);
}
