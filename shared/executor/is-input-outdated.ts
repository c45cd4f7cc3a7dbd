import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { ExecutionId } from '../model/ids.ts';

/**
 * Whether the workflow has been deployed anew since the run was asked for: then its input was right when it was stored. The first attempt's entry tells when that was, since a
 * retry keeps the input of the run.
 */
export async function isInputOutdated(db: Db, runId: ExecutionId): Promise<boolean> {
  const [run] = await db.query<{ isOutdated: boolean }>(sql`
    select f.updated_at > coalesce(w.created_at, e.created_at) as "isOutdated"
      from waybill.execution e
      join waybill.workflow f on f.name = e.workflow_name
      left join waybill.work_queue w on w.id = e.work_queue_id
     where e.id = ${runId} limit 1`);
  return run?.isOutdated ?? false;
}
