import type { Db } from '../database.ts';
import { sql } from '../sql.ts';
import { type ExecutionRow, type ExecutionState, executionColumns } from './execution-columns.ts';
import { manifestsCalled } from './manifests-called.ts';
import { PAGE_BYTES, type RowPage, sentBytes, sentTextBytes, toRowPage } from './page-size.ts';

export interface SelectExecutions {
  /** The external id of a manifest, deleted or not: history outlives its declaration. */
  manifest?: string;
  workflow?: string;
  state?: ExecutionState;
  /** Only executions with a smaller id. */
  before?: string;
  limit: number;
}

/** Executions, the newest first, in pages that end early when what they show is large. No rows mean that nothing matches. */
export async function selectExecutions(db: Db, filter: SelectExecutions): Promise<RowPage<ExecutionRow>> {
  const { manifest = null, workflow = null, state = null, before = null, limit } = filter;
  const rows = await db.query<ExecutionRow & { found_count: number }>(sql`
    with found as (
      select e.id, e.input, e.output, e.failure_message
      from waybill.execution e
      where (${manifest}::text is null or e.manifest_id = any (${manifestsCalled(manifest)}))
        and (${workflow}::text is null or e.workflow_name = ${workflow})
        and (${state}::waybill.execution_state is null or e.state = ${state}::waybill.execution_state)
        and (${before}::bigint is null or e.id < ${before}::bigint)
      order by e.id desc
      limit ${limit + 1}
    ), measured as (
      select id, count(*) over () as found_count,
        coalesce(sum(${sentBytes(sql`input`)} + ${sentBytes(sql`output`)} + ${sentTextBytes(sql`failure_message`)})
          over (order by id desc rows between unbounded preceding and 1 preceding), 0) as bytes_before
      from found
    )
    select ${executionColumns}, p.found_count
    from measured p
    join waybill.execution e on e.id = p.id
    left join waybill.manifest m on m.id = e.manifest_id
    where p.bytes_before < ${PAGE_BYTES}
    order by e.id desc`);
  return toRowPage(rows, limit);
}
