import type { Database, Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { PastCursor, PruneBatch, Pruned } from './past-retention.ts';
import { markOrphanGroups, pruneGroups } from './prune-groups.ts';
import { pruneManifests } from './prune-manifests.ts';
import { pruneRuns } from './prune-runs.ts';

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
  manifestCount: number;
  groupCount: number;
}

/** What {@link pruneGroups} removes per transaction, for which ad-hoc runs and deployments wait, and per pass. */
const GROUPS = { limit: 20, most: 100 };

/**
 * Removes what is older than the retention, in bounded batches that lock only rows nobody else holds. Executions go as whole runs. Manifests and groups come last, and only if all that could name them
 * was looked at before. Killed in between, the next hour goes on.
 */
export async function prune(
  database: Database,
  { retentionDays, batchSize = 1_000, hasTime = () => true }: PruneOptions,
): Promise<PruneReport> {
  /** Both go on until there is no more, or no more time. */
  async function walk(
    step: (db: Db, batch: PruneBatch) => Promise<Pruned>,
    { limit, most }: { limit: number; most: number } = { limit: batchSize, most: Number.POSITIVE_INFINITY },
  ): Promise<{ count: number; isOver: boolean }> {
    for (let total = 0, after: PastCursor | undefined; ; ) {
      const { count, next } = await database.transaction((db) => step(db, { retentionDays, limit, after }));
      total += count;
      if (!next || total >= most || !hasTime()) return { count: total, isOver: !next };
      after = next;
    }
  }
  async function drain(
    remove: (db: Db, retentionDays: number, limit: number) => Promise<number>,
  ): Promise<{ count: number; isOver: boolean }> {
    for (let total = 0; ; ) {
      const count = await database.transaction((db) => remove(db, retentionDays, batchSize));
      total += count;
      if (count < batchSize || !hasTime()) return { count: total, isOver: count < batchSize };
    }
  }
  const runs = await walk(pruneRuns);
  const entries = await drain(pruneEntries);
  const others = [await drain(pruneIdempotencyKeys), await drain(pruneNotifications), await drain(pruneAuditEvents)];
  const report = {
    executionCount: runs.count,
    entryCount: entries.count,
    otherCount: others.reduce((total, { count }) => total + count, 0),
  };
  if (!runs.isOver || !entries.isOver || !hasTime()) return { ...report, manifestCount: 0, groupCount: 0 };
  const manifests = await walk(pruneManifests);
  await database.transaction((db) => markOrphanGroups(db, batchSize));
  const groups = await walk(pruneGroups, GROUPS);
  return { ...report, manifestCount: manifests.count, groupCount: groups.count };
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
