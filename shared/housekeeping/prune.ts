import type { Database, Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import { pruneRuns, type RunCursor } from './prune-runs.ts';

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
 * Removes what is older than the retention, in bounded batches that lock only rows nobody else holds. Executions go as whole runs.
 * Killed in between, the next hour goes on.
 */
export async function prune(
  database: Database,
  { retentionDays, batchSize = 1_000, hasTime = () => true }: PruneOptions,
): Promise<PruneReport> {
  const executionCount = await drainRuns(database, { retentionDays, batchSize, hasTime });
  const drain = async (remove: (db: Db, retentionDays: number, limit: number) => Promise<number>) => {
    for (let total = 0; ; ) {
      const count = await database.transaction((db) => remove(db, retentionDays, batchSize));
      total += count;
      if (count < batchSize || !hasTime()) return total;
    }
  };
  const entryCount = await drain(pruneEntries);
  const otherCount = (await drain(pruneIdempotencyKeys)) + (await drain(pruneNotifications)) + (await drain(pruneAuditEvents));
  return { executionCount, entryCount, otherCount };
}

async function drainRuns(database: Database, { retentionDays, batchSize, hasTime }: Required<PruneOptions>): Promise<number> {
  for (let total = 0, after: RunCursor | undefined; ; ) {
    const { count, next } = await database.transaction((db) => pruneRuns(db, { retentionDays, limit: batchSize, after }));
    total += count;
    if (!next || !hasTime()) return total;
    after = next;
  }
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
