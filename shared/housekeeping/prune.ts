import type { Database, Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';

export interface PruneOptions {
  retentionDays: number;
  /** Rows of one kind per transaction: small enough that nothing hot waits for it. */
  batchSize?: number;
  hasTime?: () => boolean;
}

export interface PruneReport {
  executionCount: number;
  entryCount: number;
  otherCount: number;
}

/**
 * Removes what is older than the retention, in bounded batches that lock only rows nobody else holds. Executions go as whole trees,
 * and never under a dead letter that awaits a person. Killed in between, the next hour goes on.
 */
export async function prune(
  database: Database,
  { retentionDays, batchSize = 1_000, hasTime = () => true }: PruneOptions,
): Promise<PruneReport> {
  const report = { executionCount: 0, entryCount: 0, otherCount: 0 };
  const drain = async (remove: (db: Db) => Promise<number>) => {
    for (let total = 0; ; ) {
      const count = await database.transaction(remove);
      total += count;
      if (count < batchSize || !hasTime()) return total;
    }
  };
  report.executionCount = await drain((db) => pruneExecutions(db, retentionDays, batchSize));
  report.entryCount = await drain((db) => pruneEntries(db, retentionDays, batchSize));
  for (const remove of [pruneIdempotencyKeys, pruneNotifications, pruneAuditEvents]) {
    report.otherCount += await drain((db) => remove(db, retentionDays, batchSize));
  }
  return report;
}

/** Counts runs: attempts of one run and the executions below them go together, and only when all of them have ended long ago. */
async function pruneExecutions(db: Db, retentionDays: number, limit: number): Promise<number> {
  const candidates = await db.query<{ id: number; runId: number }>(sql`
    select id, run_id as "runId" from waybill.execution
     where finished_at < waybill.now() - make_interval(days => ${retentionDays}) and parent_id is null
     order by finished_at limit ${limit} for update skip locked`);
  if (!candidates.length) return 0;
  const runIds = [...new Set(candidates.map(({ runId }) => runId))];
  const removable = sql`
    select e.id from waybill.execution e
     where e.root_id in (select r.id from waybill.execution r where r.run_id = any(${runIds}::bigint[]) and r.parent_id is null)
       and e.root_id not in (
         select r.id from waybill.execution r join waybill.execution o on o.run_id = r.run_id
          where r.run_id = any(${runIds}::bigint[])
            and (o.finished_at is null or o.finished_at >= waybill.now() - make_interval(days => ${retentionDays})
                 or exists (select from waybill.work_queue w where w.run_id = r.run_id and w.status = 'queued')
                 or exists (select from waybill.dead_letter d where d.run_id = r.run_id and d.status = 'awaiting_intervention')))`;
  await db.query(sql`delete from waybill.execution_log where execution_id in (${removable})`);
  await db.query(sql`delete from waybill.execution_step where execution_id in (${removable})`);
  await db.query(sql`delete from waybill.dead_letter where status <> 'awaiting_intervention' and execution_id in (${removable})`);
  const removed = await db.query(sql`delete from waybill.execution where id in (${removable}) returning id`);
  return removed.length;
}

/** An entry stays as long as the execution it became. */
function pruneEntries(db: Db, retentionDays: number, limit: number): Promise<number> {
  return count(
    db,
    sql`
    delete from waybill.work_queue where id in (
      select w.id from waybill.work_queue w
       where w.status <> 'queued' and w.created_at < waybill.now() - make_interval(days => ${retentionDays})
         and not exists (select from waybill.execution e where e.work_queue_id = w.id)
       order by w.created_at limit ${limit} for update skip locked)
    returning id`,
  );
}

function pruneIdempotencyKeys(db: Db, _: number, limit: number): Promise<number> {
  return count(
    db,
    sql`
    delete from waybill.idempotency_key where key in (
      select key from waybill.idempotency_key where created_at < waybill.now() - interval '1 day' order by created_at limit ${limit} for update skip locked)
    returning key`,
  );
}

function pruneNotifications(db: Db, retentionDays: number, limit: number): Promise<number> {
  return count(
    db,
    sql`
    delete from waybill.notification where id in (
      select id from waybill.notification
       where sent_at is not null and created_at < waybill.now() - make_interval(days => ${retentionDays})
       order by created_at limit ${limit} for update skip locked)
    returning id`,
  );
}

function pruneAuditEvents(db: Db, retentionDays: number, limit: number): Promise<number> {
  return count(
    db,
    sql`
    delete from waybill.audit_event where id in (
      select id from waybill.audit_event where occurred_at < waybill.now() - make_interval(days => ${retentionDays})
       order by occurred_at limit ${limit} for update skip locked)
    returning id`,
  );
}

async function count(db: Db, statement: ReturnType<typeof sql>): Promise<number> {
  return (await db.query(statement)).length;
}
