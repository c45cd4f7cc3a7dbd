import type { Db } from '../database.ts';
import { sql } from '../sql.ts';
import { type RowPage, toRowPage } from './page-size.ts';

export interface SelectGroups {
  name?: string;
  /** Only names that sort after this one. */
  after?: string;
  limit: number;
}

export interface GroupRow {
  name: string;
  priority: number;
  max_active_jobs: number | null;
  is_enabled: boolean;
  live_count: number;
  queued_count: number;
  manifest_count: number;
  found_count: number;
}

/**
 * Groups by name, each with what it has in use. Live is counted as the dispatcher counts slots: pending or in progress, with an entry, not a plan. The page is cut
 * first, so only its groups are counted: live and queued from partial indexes over what is unfinished, manifests in one pass over all of them. No rows mean that nothing matches.
 */
export async function selectGroups(db: Db, filter: SelectGroups): Promise<RowPage<GroupRow>> {
  const { name = null, after = null, limit } = filter;
  const rows = await db.query<GroupRow>(sql`
    with found as (
      select g.id, g.name, g.priority, g.max_active_jobs, g.is_enabled
        from waybill.manifest_group g
       where (${name}::text is null or g.name = ${name}) and (${after}::text is null or g.name > ${after})
       order by g.name
       limit ${limit + 1}
    ), counted as (
      select m.group_id, count(*) as manifest_count from waybill.manifest m
       where m.group_id in (select id from found) and m.deleted_at is null group by m.group_id
    )
    select g.name, g.priority, g.max_active_jobs, g.is_enabled, count(*) over () as found_count,
      (select count(*) from waybill.execution e
        where e.group_id = g.id and e.state in ('pending', 'in_progress') and e.work_queue_id is not null and e.group_count is null) as live_count,
      (select count(*) from waybill.work_queue w where w.group_id = g.id and w.status = 'queued') as queued_count,
      coalesce(c.manifest_count, 0) as manifest_count
    from found g left join counted c on c.group_id = g.id
    order by g.name`);
  return toRowPage(rows, limit);
}
