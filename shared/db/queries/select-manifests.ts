import type { Db } from '../database.ts';
import { sql } from '../sql.ts';
import { type ManifestState, manifestState } from './manifest-state.ts';
import { PAGE_BYTES, type RowPage, sentBytes, toRowPage } from './page-size.ts';

export interface SelectManifests {
  externalId?: string;
  group?: string;
  workflow?: string;
  state?: ManifestState;
  /** A part of the external id, in any case; no character has a special meaning. */
  search?: string;
  /** Only external ids that sort after this one. */
  after?: string;
  limit: number;
}

export interface ManifestRow {
  external_id: string;
  kind: 'job' | 'plan';
  workflow_name: string | null;
  input: unknown;
  group_name: string;
  pool: string | null;
  schedule_type: 'none' | 'cron' | 'interval' | 'once' | 'dependent' | 'dormant_dependent';
  cron_expression: string | null;
  time_zone: string | null;
  interval_seconds: number | null;
  run_at: Date | null;
  parents: string[];
  dependency_mode: 'all' | 'any' | null;
  is_enabled: boolean;
  priority: number;
  max_attempts: number;
  timeout_seconds: number | null;
  owner: string;
  version: number;
  next_due_at: Date | null;
  last_successful_run: Date | null;
  success_count: number;
  failed_count: number;
  last_skip_reason: string | null;
  last_skip_at: Date | null;
  skip_count: number;
  state: ManifestState;
  last_runs: { id: string; state: string; started_at: string | null; finished_at: string | null }[];
  found_count: number;
}

/**
 * Manifests by external id, each with its parents and its last five runs, in one statement: the page is cut first, so runs
 * and parents are looked up for its rows only. Deleted manifests are not there; no rows mean that nothing matches.
 */
export async function selectManifests(db: Db, filter: SelectManifests): Promise<RowPage<ManifestRow>> {
  const { externalId = null, group = null, workflow = null, state = null, search = null, after = null, limit } = filter;
  const rows = await db.query<ManifestRow>(sql`
    with found as (
      select m.id, m.external_id, m.input, g.name as group_name, s.state
      from waybill.manifest m
      join waybill.manifest_group g on g.id = m.group_id
      cross join lateral (select ${manifestState} as state) s
      where m.deleted_at is null
        and (${externalId}::text is null or m.external_id = ${externalId})
        and (${group}::text is null or g.name = ${group})
        and (${workflow}::text is null or m.workflow_name = ${workflow})
        and (${search}::text is null or position(lower(${search}) in lower(m.external_id)) > 0)
        and (${after}::text is null or m.external_id > ${after})
        and (${state}::text is null or s.state = ${state})
      order by m.external_id
      limit ${limit + 1}
    ), measured as (
      select id, group_name, state, count(*) over () as found_count,
        coalesce(sum(${sentBytes(sql`input`)}) over (order by external_id rows between unbounded preceding and 1 preceding), 0) as bytes_before
      from found
    )
    select m.external_id, m.kind, m.workflow_name, m.input, p.group_name, m.pool, m.schedule_type, m.cron_expression, m.time_zone,
      m.interval_seconds, m.run_at, parent.parents, m.dependency_mode, m.is_enabled, m.priority, m.max_attempts, m.timeout_seconds,
      m.owner, m.version, m.next_due_at, m.last_successful_run, m.success_count, m.failed_count, m.last_skip_reason, m.last_skip_at, m.skip_count,
      p.state, run.last_runs, p.found_count
    from measured p
    join waybill.manifest m on m.id = p.id
    cross join lateral (
      select coalesce(json_agg(parent.external_id order by parent.external_id), '[]') as parents
      from waybill.manifest_dependency d
      join waybill.manifest parent on parent.id = d.parent_id and parent.deleted_at is null
      where d.child_id = m.id
    ) parent
    cross join lateral (
      select coalesce(json_agg(json_build_object(
        'id', r.id::text, 'state', r.state, 'started_at', r.started_at, 'finished_at', r.finished_at) order by r.id desc), '[]') as last_runs
      from (
        select e.id, e.state, e.started_at, e.finished_at
        from waybill.execution e
        where e.manifest_id = m.id and e.parent_id is null
        order by e.id desc
        limit 5
      ) r
    ) run
    where p.bytes_before < ${PAGE_BYTES}
    order by m.external_id`);
  return toRowPage(rows, limit);
}
