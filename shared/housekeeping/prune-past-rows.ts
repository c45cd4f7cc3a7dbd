import type { Db } from '../db/database.ts';
import { type Sql, sql } from '../db/sql.ts';
import type { PruneBatch } from './past-retention.ts';

/** Rows of one kind that go by their age, one by one. */
export interface PastRows {
  table: Sql;
  key: Sql;
  /** The instant from which their age counts; there is an index in its order. */
  since: Sql;
  /** What else must be true of one that goes. */
  mayGo: Sql;
  /** Kept as long as this instead of the retention. */
  keptDays?: number;
}

/** An entry stays as long as the execution it became. */
export const pastEntries: PastRows = {
  table: sql`waybill.work_queue`,
  key: sql`id`,
  since: sql`created_at`,
  mayGo: sql`status <> 'queued' and not exists (select from waybill.execution e where e.work_queue_id = work_queue.id)`,
};

export const pastIdempotencyKeys: PastRows = {
  table: sql`waybill.idempotency_key`,
  key: sql`key`,
  since: sql`created_at`,
  mayGo: sql`true`,
  keptDays: 1,
};

export const pastNotifications: PastRows = {
  table: sql`waybill.notification`,
  key: sql`id`,
  since: sql`created_at`,
  mayGo: sql`sent_at is not null`,
};

export const pastAuditEvents: PastRows = { table: sql`waybill.audit_event`, key: sql`id`, since: sql`occurred_at`, mayGo: sql`true` };

/** Removes the oldest rows that are past their time and that nobody holds. Fewer than the limit mean that there are no others. */
export async function prunePastRows(
  db: Db,
  { table, key, since, mayGo, keptDays }: PastRows,
  { retentionDays, limit }: PruneBatch,
): Promise<number> {
  const removed = await db.query(sql`
    delete from ${table} where ${key} in (
      select ${key} from ${table} where ${mayGo} and ${since} < waybill.now() - make_interval(days => ${keptDays ?? retentionDays})
       order by ${since} limit ${limit} for update skip locked)
    returning ${key}`);
  return removed.length;
}
