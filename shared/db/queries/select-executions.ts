import type { Db } from '../database.ts';
import { sql } from '../sql.ts';
import { type ExecutionRow, type ExecutionState, executionColumns } from './execution-columns.ts';
import { PAGE_BYTES, type RowPage, toRowPage } from './page-size.ts';

export interface SelectExecutions {
  /** The external id of a manifest, deleted or not: history outlives its declaration. */
  manifest?: string;
  workflow?: string;
  state?: ExecutionState;
  /** Only executions with a smaller id. */
  before?: string;
  limit: number;
}

/**
 * Executions, the newest first. No rows mean that nothing matches. The two halves of the manifest lookup exist because one
 * external id is unique only among manifests that are not deleted, and each half has an index of its own.
 */
export async function selectExecutions(db: Db, filter: SelectExecutions): Promise<RowPage<ExecutionRow>> {
  const { manifest = null, workflow = null, state = null, before = null, limit } = filter;
  const rows = await db.query<ExecutionRow & { found_count: number }>(sql`
    with found as (
      select e.id, e.input, e.output, e.failure_message
      from waybill.execution e
      where (${manifest}::text is null or e.manifest_id = any (array(
          select id from waybill.manifest where external_id = ${manifest} and deleted_at is null
          union all
          select id from waybill.manifest where external_id = ${manifest} and deleted_at is not null)))
        and (${workflow}::text is null or e.workflow_name = ${workflow})
        and (${state}::waybill.execution_state is null or e.state = ${state}::waybill.execution_state)
        and (${before}::bigint is null or e.id < ${before}::bigint)
      order by e.id desc
      limit ${limit + 1}
    ), measured as (
      select id, count(*) over () as found_count,
        coalesce(sum(octet_length(input::text) + coalesce(octet_length(output::text), 0) + coalesce(octet_length(failure_message), 0))
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
