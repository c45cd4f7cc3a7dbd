import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { SyncReport } from './sync-report.ts';

/**
 * Hands out the version by which deployments of one owner are ordered. It is taken when a deployment begins, before any function changes, since of two that race the one
 * that began later must win, also if it is the first to arrive. Repeated, it begins once more, which a deployment may do until it is applied.
 */
export async function startDeployment(db: Db, owner: string, definitionHash: string): Promise<number> {
  const [row] = await db.query<{ version: number }>(sql`
    insert into waybill.deployment (owner, definition_hash) values (${owner}, ${definitionHash}) returning version`);
  return row!.version;
}

/** The deployment that began with this definition, the latest if there were several; undefined if none has. */
export async function findStartedDeployment(db: Db, owner: string, definitionHash: string): Promise<number | undefined> {
  const [row] = await db.query<{ version: number }>(sql`
    select version from waybill.deployment where owner = ${owner} and definition_hash = ${definitionHash} order by version desc limit 1`);
  return row?.version;
}

/** A deployment of this owner that began later and has been applied. Asked under the graph lock, where deployments take turns. */
export async function findLaterDeployment(db: Db, owner: string, version: number): Promise<number | undefined> {
  const [row] = await db.query<{ version: number }>(sql`
    select version from waybill.deployment
     where owner = ${owner} and version > ${version} and applied_at is not null
     order by version desc limit 1`);
  return row?.version;
}

/** Notes that a deployment was applied, in the transaction that applied it. */
export async function recordApplied(db: Db, version: number, report: SyncReport): Promise<void> {
  await db.query(sql`
    update waybill.deployment set applied_at = waybill.now(), summary = ${JSON.stringify(report)}::jsonb where version = ${version}`);
}
