import type { Db } from '../database.ts';
import { sql } from '../sql.ts';
import { manifestsCalled } from './manifests-called.ts';
import { PAGE_BYTES, type RowPage, sentBytes, sentTextBytes, toRowPage } from './page-size.ts';

export const deadLetterStatuses = ['awaiting_intervention', 'retried', 'acknowledged'] as const;
export type DeadLetterStatus = (typeof deadLetterStatuses)[number];

export interface SelectDeadLetters {
  id?: string;
  status?: DeadLetterStatus;
  /** The external id of a manifest, deleted or not: what failed outlives its declaration. */
  manifest?: string;
  /** Only dead letters with a smaller id. */
  before?: string;
  limit: number;
}

export interface DeadLetterRow {
  id: string;
  manifest: string | null;
  workflow_name: string | null;
  execution_id: string;
  run_id: string;
  status: DeadLetterStatus;
  reason: string;
  message: string | null;
  failed_count: number;
  input: unknown;
  created_at: Date;
  resolved_at: Date | null;
  resolution_note: string | null;
  resolved_by_type: string | null;
  resolved_by_id: string | null;
  resolved_by_name: string | null;
  found_count: number;
}

/** Dead letters, the newest first, in pages that end early when their inputs are large. No rows mean that nothing matches. */
export async function selectDeadLetters(db: Db, filter: SelectDeadLetters): Promise<RowPage<DeadLetterRow>> {
  const { id = null, status = null, manifest = null, before = null, limit } = filter;
  const rows = await db.query<DeadLetterRow>(sql`
    with found as (
      select d.id, d.input, d.message
      from waybill.dead_letter d
      where (${id}::bigint is null or d.id = ${id}::bigint)
        and (${status}::waybill.dead_letter_status is null or d.status = ${status}::waybill.dead_letter_status)
        and (${manifest}::text is null or d.manifest_id = any (${manifestsCalled(manifest)}))
        and (${before}::bigint is null or d.id < ${before}::bigint)
      order by d.id desc
      limit ${limit + 1}
    ), measured as (
      select id, count(*) over () as found_count,
        coalesce(sum(${sentBytes(sql`input`)} + ${sentTextBytes(sql`message`)})
          over (order by id desc rows between unbounded preceding and 1 preceding), 0) as bytes_before
      from found
    )
    select d.id::text, m.external_id as manifest, e.workflow_name, d.execution_id::text, d.run_id::text, d.status, d.reason, d.message, d.failed_count,
      d.input, d.created_at, d.resolved_at, d.resolution_note, d.resolved_by_type, d.resolved_by_id, d.resolved_by_name, p.found_count
    from measured p
    join waybill.dead_letter d on d.id = p.id
    left join waybill.manifest m on m.id = d.manifest_id
    left join waybill.execution e on e.id = d.execution_id
    where p.bytes_before < ${PAGE_BYTES}
    order by d.id desc`);
  return toRowPage(rows, limit);
}
