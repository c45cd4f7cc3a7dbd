import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import { NotFoundError } from '../errors.ts';
import { isName } from './paging.ts';

/** Refuses a workflow that the last deployment does not have: its run would find nobody who knows it. */
export async function checkDeployed(db: Db, workflow: string): Promise<void> {
  const [known] = isName(workflow) ? await db.query(sql`select from waybill.workflow where name = ${workflow} and removed_at is null`) : [];
  if (!known)
    throw new NotFoundError('workflow_not_found', `workflow '${workflow}' is not deployed: GET /v1/workflows lists those that are`);
}
