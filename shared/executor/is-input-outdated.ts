import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { ExecutionId } from '../model/ids.ts';

/**
 * Whether the workflow has been deployed anew since the run's input was stored: then it was right at that time. The first attempt tells, since a retry keeps the input of the run. What
 * somebody gave came with the entry; what a schedule or a dependency runs with is its manifest's, as that was defined when the run was admitted.
 */
export async function isInputOutdated(db: Db, runId: ExecutionId): Promise<boolean> {
  const [run] = await db.query<{ isOutdated: boolean }>(sql`
    select f.updated_at > case when w.origin in ('schedule', 'dependency') and not w.is_input_given then least(m.updated_at, e.created_at)
                               else coalesce(w.created_at, e.created_at) end as "isOutdated"
      from waybill.execution e
      join waybill.workflow f on f.name = e.workflow_name
      left join waybill.work_queue w on w.id = e.work_queue_id
      left join waybill.manifest m on m.id = e.manifest_id
     where e.id = ${runId} limit 1`);
  return run?.isOutdated ?? false;
}
