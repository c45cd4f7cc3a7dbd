import type { Db } from '../database.ts';
import { sql } from '../sql.ts';
import { PAGE_BYTES, type RowPage, sentBytes, toRowPage } from './page-size.ts';

export interface SelectWorkflows {
  /** Only names that sort after this one. */
  after?: string;
  limit: number;
}

export interface WorkflowRow {
  name: string;
  owner: string;
  pool: string;
  input_schema: unknown;
  updated_at: Date;
  found_count: number;
}

/** The workflows that the deployed code knows, by name. No rows mean that nothing is deployed. */
export async function selectWorkflows(db: Db, { after, limit }: SelectWorkflows): Promise<RowPage<WorkflowRow>> {
  const rows = await db.query<WorkflowRow>(sql`
    with found as (
      select * from waybill.workflow
       where removed_at is null and (${after ?? null}::text is null or name > ${after ?? null})
       order by name
       limit ${limit + 1}
    ), measured as (
      select *, count(*) over () as found_count,
        coalesce(sum(${sentBytes(sql`input_schema`)}) over (order by name rows between unbounded preceding and 1 preceding), 0) as bytes_before
      from found
    )
    select name, owner, pool, input_schema, updated_at, found_count from measured where bytes_before < ${PAGE_BYTES} order by name`);
  return toRowPage(rows, limit);
}
