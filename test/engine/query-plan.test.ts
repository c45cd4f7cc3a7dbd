import { beforeAll, expect, it } from 'vitest';
import { sql } from '../../shared/db/sql.ts';
import { managerCycle } from '../../shared/manager/cycle.ts';
import { analyze, freezeStatistics } from '../dispatcher/explain-claim.ts';
import { clear, pools, useEngine } from '../support/engine.ts';
import { findWideScans } from '../support/find-wide-scans.ts';

const engine = useEngine();
const DUE = 1_000;

/** 40,000 manifests, a size at which reading all of them looks as cheap as a thousand probes, each with a run of the past; a tenth of them in a disabled group. */
beforeAll(async () => {
  await clear(engine);
  await freezeStatistics(engine);
  await engine.database.query(sql`insert into waybill.manifest_group (name, is_enabled) values ('on', true), ('off', false)`);
  await engine.database.query(sql`
    insert into waybill.manifest (external_id, workflow_name, group_id, owner, schedule_type, interval_seconds, anchor, next_occurrence_at, next_due_at)
    select 'job-' || n, 'work', g.id, 'test', 'interval', 3600, 'occurrence', waybill.now() + interval '1 hour', waybill.now() + interval '1 hour'
      from generate_series(1, 40000) n join waybill.manifest_group g on (g.name = 'off') = (n % 10 = 0)`);
  await engine.database.query(sql`
    insert into waybill.work_queue (workflow_name, manifest_id, group_id, status, dispatched_at, origin, initiator_type)
    select 'work', id, group_id, 'dispatched', waybill.now(), 'manual', 'user' from waybill.manifest`);
  await engine.database.query(sql`
    insert into waybill.execution (root_id, run_id, work_queue_id, manifest_id, workflow_name, group_id, pool, state, finished_at, origin, initiator_type)
    select id, id, id, manifest_id, workflow_name, group_id, 'default', 'completed', waybill.now(), origin, initiator_type from waybill.work_queue`);
  await analyze(engine);
});

it.each(['when nothing was queued', 'when much was queued'])(
  'a cycle reads no table as a whole, with the statistics of a time %s',
  async () => {
    await engine.database.query(sql`
    update waybill.manifest set next_occurrence_at = waybill.now(), next_due_at = waybill.now() where id in (
      select id from waybill.manifest where id > (select coalesce(max(manifest_id), 0) from waybill.work_queue where status = 'queued') order by id limit ${DUE})`);
    const scans = await findWideScans(engine, async (database) => {
      const { queuedCount, skippedCount } = await managerCycle({ database, doorbell: engine.doorbell, pools, hasTime: () => false });
      expect({ queuedCount, skippedCount }).toEqual({ queuedCount: 0.9 * DUE, skippedCount: 0.1 * DUE });
    });
    expect(scans.filter((scan) => scan.startsWith('Seq Scan'))).toEqual([]);
    // What was queued is known to the next one.
    await analyze(engine);
  },
);
