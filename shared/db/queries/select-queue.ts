import type { Db } from '../database.ts';
import { sql } from '../sql.ts';
import { type RowPage, toRowPage } from './page-size.ts';

export interface SelectQueue {
  group?: string;
  /** An external id. */
  manifest?: string;
  workflow?: string;
  /** Only entries behind this one. */
  after?: QueuePlace;
  limit: number;
}

/** Where an entry stands: behind the groups before its own, and in its group by rank. Kept in text, where microseconds since 1970 stay exact. */
export interface QueuePlace {
  groupId: string;
  rankMicroseconds: string;
  id: string;
}

export interface QueueRow {
  id: string;
  group_id: string;
  rank_microseconds: string;
  manifest: string | null;
  workflow_name: string | null;
  group_name: string;
  execution_id: string | null;
  lane: 'fresh' | 'retry' | 'series';
  origin: string;
  attempt: number;
  priority: number;
  occurrence_at: Date | null;
  available_at: Date;
  created_at: Date;
  initiator_type: string;
  initiator_id: string | null;
  initiator_name: string | null;
  found_count: number;
}

/**
 * What is queued, group by group, and in each in the order in which a claim reads it, from the very index that the claim reads: the next page begins
 * with a probe, however long the queue is. No rows mean that nothing that matches waits.
 */
export async function selectQueue(db: Db, filter: SelectQueue): Promise<RowPage<QueueRow>> {
  const { group = null, manifest = null, workflow = null, after, limit } = filter;
  const rows = await db.query<QueueRow>(sql`
    select w.id::text, w.group_id::text, (extract(epoch from w.rank_at) * 1000000)::bigint::text as rank_microseconds, m.external_id as manifest,
      w.workflow_name, g.name as group_name, w.execution_id::text, w.lane, w.origin, w.attempt, w.priority, w.occurrence_at, w.available_at,
      w.created_at, w.initiator_type, w.initiator_id, w.initiator_name, count(*) over () as found_count
    from (
      select * from waybill.work_queue q
       where q.status = 'queued'
         and (${group}::text is null or q.group_id = (select id from waybill.manifest_group where name = ${group}))
         and (${manifest}::text is null
              or q.manifest_id = (select id from waybill.manifest where external_id = ${manifest} and deleted_at is null))
         and (${workflow}::text is null or q.workflow_name = ${workflow})
         and (${after?.id ?? null}::bigint is null
              or (q.group_id, q.rank_at, q.id) > (${after?.groupId ?? null}::bigint,
                  timestamptz 'epoch' + ${after?.rankMicroseconds ?? null}::bigint * interval '1 microsecond', ${after?.id ?? null}::bigint))
       order by q.group_id, q.rank_at, q.id
       limit ${limit + 1}
    ) w
    join waybill.manifest_group g on g.id = w.group_id
    left join waybill.manifest m on m.id = w.manifest_id
    order by w.group_id, w.rank_at, w.id`);
  return toRowPage(rows, limit);
}
