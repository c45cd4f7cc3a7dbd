import { beforeAll, expect, it } from 'vitest';
import { sql } from '../../shared/db/sql.ts';
import { startPlans } from '../../shared/dispatcher/start-plans.ts';
import { findLatePlans, findRestingPlans } from '../../shared/manager/find-plans.ts';
import type { ExecutionId } from '../../shared/model/ids.ts';
import { cancelExecution } from '../../shared/operations/cancel-execution.ts';
import { readExecution } from '../../shared/operations/read-execution.ts';
import { endRuns } from '../../shared/transitions/end-runs.ts';
import { analyze, freezeStatistics } from '../dispatcher/explain-claim.ts';
import { clear, recordDoorbell, useEngine } from '../support/engine.ts';
import { findWideScans } from '../support/find-wide-scans.ts';
import { plantPlans } from './storm-plans.ts';

const engine = useEngine();

/** 30,000 ended executions of which 2,000 are plans with their steps, 10,000 manifests, 30,000 queued entries of others, 300 running plans and 50 that wait. Statistics know the past only. */
beforeAll(async () => {
  await clear(engine);
  await freezeStatistics(engine);
  await engine.database.query(sql`insert into waybill.manifest_group (name) values ('busy')`);
  const group = sql`(select id from waybill.manifest_group where name = 'busy')`;
  await engine.database.query(sql`
    insert into waybill.execution (root_id, run_id, workflow_name, group_id, state, finished_at, origin, initiator_type, current_group_index, group_count)
    select n, n, 'work', ${group}, 'completed', waybill.now(), 'manual', 'user', case when n % 10 = 0 then 0 end, case when n % 10 = 0 then 1 end from generate_series(1, 20000) n`);
  await engine.database.query(sql`
    insert into waybill.execution (parent_id, root_id, run_id, workflow_name, group_id, state, finished_at, origin, initiator_type, group_index, position, step_name)
    select p.id, p.id, p.id, 'work', ${group}, 'completed', waybill.now(), 'plan', 'user', 0, s, 'step ' || s
      from waybill.execution p, generate_series(0, 4) s where p.group_count is not null`);
  await engine.database.query(sql`
    insert into waybill.manifest (external_id, workflow_name, group_id, owner, schedule_type) select 'job-' || n, 'work', ${group}, 'test', 'none' from generate_series(1, 10000) n`);
  await analyze(engine);
  await engine.database.query(sql`
    insert into waybill.work_queue (workflow_name, group_id, origin, initiator_type) select 'work', ${group}, 'manual', 'user' from generate_series(1, 30000)`);
  await plantPlans(engine, 350);
  while ((await startPlans(engine.database, 50)).startedCount > 0) if ((await unfinishedPlans()) >= 300) break;
});

async function unfinishedPlans(): Promise<number> {
  return (await engine.rows(sql`select from waybill.execution where group_count is not null and finished_at is null`)).length;
}

async function firstStep(): Promise<ExecutionId> {
  const [step] = await engine.rows<{ id: ExecutionId }>(
    sql`select id from waybill.execution where state = 'waiting' and group_index = 0 order by id limit 1`,
  );
  return step!.id;
}

it('plans are started, watched, advanced, stopped and shown by probes, beside a long past and a long queue', async () => {
  expect(await unfinishedPlans()).toBe(300);
  expect(await findWideScans(engine, (database) => startPlans(database, 20))).toEqual([]);
  expect(await unfinishedPlans()).toBe(320);
  expect(await findWideScans(engine, (database) => findLatePlans(database))).toEqual([]);
  expect(await findWideScans(engine, (database) => findRestingPlans(database))).toEqual([]);
  const executionId = await firstStep();
  await engine.database.query(sql`delete from waybill.work_queue where execution_id = ${executionId}`);
  const outcome = { executionId, leaseToken: null, isUnclaimed: true, state: 'completed' as const };
  expect(await findWideScans(engine, (database) => database.transaction((db) => endRuns(db, [outcome])))).toEqual([]);
  const [plan] = await engine.rows<{ id: string }>(sql`select parent_id::text as id from waybill.execution where id = ${executionId}`);
  expect(await findWideScans(engine, (database) => readExecution(database, plan!.id))).toEqual([]);
  const context = { doorbell: recordDoorbell(), initiator: { type: 'user' as const, id: 'u', name: 'Ada' } };
  expect(await findWideScans(engine, (database) => cancelExecution({ ...context, database }, plan!.id))).toEqual([]);
});
