import { beforeAll, expect, it } from 'vitest';
import type { Db } from '../../shared/db/database.ts';
import { type Sql, sql } from '../../shared/db/sql.ts';
import { listDeadLetters } from '../../shared/operations/list-dead-letters.ts';
import { listExecutions } from '../../shared/operations/list-executions.ts';
import { useEngine } from '../support/engine.ts';

const engine = useEngine();

/** 20,000 manifests, one of which was deleted and declared anew, with 20,000 dead letters and runs; the planner knows them. */
beforeAll(async () => {
  await engine.database.query(sql`insert into waybill.manifest_group (name) values ('g')`);
  await engine.database.query(sql`
    insert into waybill.manifest (external_id, workflow_name, group_id, owner, schedule_type, deleted_at)
    select 'job-' || greatest(n, 0), 'work', g.id, 'test', 'none', case when n < 0 then waybill.now() end
      from waybill.manifest_group g, generate_series(-1, 20000) n`);
  await engine.database.query(sql`
    insert into waybill.dead_letter (manifest_id, execution_id, run_id, input, status, reason, failed_count, resolved_at)
    select id, id, id, '{}', 'acknowledged', 'exhausted', 1, waybill.now() from waybill.manifest`);
  await engine.database.query(sql`
    insert into waybill.execution (root_id, run_id, manifest_id, workflow_name, group_id, state, finished_at, origin, initiator_type)
    select id, id, id, 'work', group_id, 'completed', waybill.now(), 'manual', 'user' from waybill.manifest`);
  await engine.database.query(sql`analyze waybill.manifest, waybill.dead_letter, waybill.execution`);
});

/** The tables that a statement reads from end to end. */
function readingWhole(db: Db, whole: string[]): Db {
  return {
    async query<Row>(statement: Sql) {
      const plan = await db.query<{ 'QUERY PLAN': string }>({ ...statement, text: `explain ${statement.text}` });
      whole.push(...plan.flatMap((line) => /Seq Scan on (\w+)/.exec(line['QUERY PLAN'])?.[1] ?? []));
      return db.query<Row>(statement);
    },
  };
}

it.each([
  ['dead letters', listDeadLetters],
  ['runs', listExecutions],
])('the %s of one name, those of its deleted manifest too, are found without reading all manifests', async (_, list) => {
  const whole: string[] = [];
  const { items } = await list(readingWhole(engine.database, whole), { manifest: 'job-0', limit: 10 });
  expect({ count: items.length, whole }).toEqual({ count: 2, whole: [] });
});
