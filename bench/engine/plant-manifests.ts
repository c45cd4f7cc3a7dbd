import type { Database, Db } from '../../shared/db/database.ts';
import { sql } from '../../shared/db/sql.ts';

export interface PlantManifests {
  count: number;
  /** All of them due now; otherwise all due at some instant of the day that begins in an hour. */
  isDue?: boolean;
}

const GROUPS = 200;
/** Past runs are planted for this many manifests at the most: enough for the planner to see tables that are in use. */
const MOST_HISTORY = 100_000;

/**
 * Registers manifests by the set: half interval, half cron (every five minutes, hourly, daily and weekly in equal parts, a third of them in a zone with summer time),
 * over two hundred groups; and one finished run each. Afterwards everything is vacuumed, analyzed and on disk, so that what is measured does not pay for the planting.
 */
export async function plantManifests(database: Database, { count, isDue = false }: PlantManifests): Promise<void> {
  await database.transaction(async (db) => {
    // The references are known to be right; checking a million of them would take longer than the measurement.
    await db.query(sql`set local session_replication_role = replica`);
    await db.query(sql`
      insert into waybill.manifest_group (name) select 'group-' || n from generate_series(1, ${GROUPS}::integer) n`);
    await withoutIndexes(db, 'manifest', () => insertManifests(db, count, isDue));
    await db.query(sql`
      insert into waybill.work_queue (workflow_name, manifest_id, group_id, origin, occurrence_at, status, dispatched_at, initiator_type)
      select 'work', id, group_id, 'schedule', last_successful_run, 'dispatched', last_successful_run, 'schedule'
        from waybill.manifest where id <= ${MOST_HISTORY}`);
    await db.query(sql`
      insert into waybill.execution (root_id, run_id, manifest_id, workflow_name, pool, group_id, work_queue_id, state, origin, initiator_type,
                                     started_at, finished_at)
      select id, id, manifest_id, workflow_name, 'default', group_id, id, 'completed', origin, initiator_type, dispatched_at, dispatched_at
        from waybill.work_queue`);
  });
  await database.query(sql`vacuum (analyze) waybill.manifest_group, waybill.manifest, waybill.work_queue, waybill.execution`);
  await database.query(sql`checkpoint`);
}

function insertManifests(db: Db, count: number, isDue: boolean): Promise<unknown> {
  return db.query<never>(sql`
    insert into waybill.manifest (external_id, workflow_name, group_id, owner, schedule_type, cron_expression, time_zone, interval_seconds, anchor,
                                  next_occurrence_at, next_due_at, success_count, last_successful_run, last_success_started_at)
    select 'manifest-' || n, 'work', 1 + n % ${GROUPS}, 'bench', (case when is_cron then 'cron' else 'interval' end)::waybill.schedule_type,
           case when is_cron then case n / 2 % 4 when 0 then '*/5 * * * *'
                                                 when 1 then concat(n / 8 % 60, ' * * * *')
                                                 when 2 then concat(n / 8 % 60, ' ', n / 480 % 24, ' * * *')
                                                 else concat(n / 8 % 60, ' ', n / 480 % 24, ' * * ', n / 8 % 7) end end,
           case when is_cron then (array['UTC', 'UTC', 'Europe/London'])[1 + n / 2 % 3] end,
           case when not is_cron then 3600 + n % 3600 end, case when not is_cron then 'occurrence'::waybill.interval_anchor end,
           due_at, due_at, 1, waybill.now() - interval '1 hour', waybill.now() - interval '1 hour'
      from generate_series(1, ${count}::integer) n
     cross join lateral (select n % 2 = 0 as is_cron,
                                date_trunc('second', waybill.now() + case when ${isDue} then interval '-1 second'
                                                                          else interval '1 hour' + random() * interval '1 day' end) as due_at)`);
}

/** Builds a table's indexes once, after the rows have come, instead of a million times. Those that stand for a constraint stay. */
async function withoutIndexes(db: Db, table: string, insert: () => Promise<unknown>): Promise<void> {
  const indexes = await db.query<{ name: string; definition: string }>(sql`
    select i.indexname as name, i.indexdef as definition from pg_indexes i
     where i.schemaname = 'waybill' and i.tablename = ${table} and i.indexname not in (select conname from pg_constraint)`);
  for (const { name } of indexes) await db.query({ text: `drop index waybill.${name}`, values: [] });
  await insert();
  for (const { definition } of indexes) await db.query({ text: definition, values: [] });
}
