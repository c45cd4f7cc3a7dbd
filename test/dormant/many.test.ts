import { beforeEach, expect, it } from 'vitest';
import type { Database } from '../../shared/db/database.ts';
import { sql } from '../../shared/db/sql.ts';
import { activate } from '../../shared/dormant/activate.ts';
import type { Capability } from '../../shared/model/dormant.ts';
import { dormantBelow, parent, useDormants } from './use-dormants.ts';

const world = useDormants();
const MOST = 10_000;
const names = Array.from({ length: MOST }, (_, index) => `child-${index}`);
const asked = names.map((externalId, index) => ({ externalId, input: { index } }));

/** Counts what is sent inside transactions. */
function counting(database: Database): Database & { statementCount: number } {
  const counted = {
    ...database,
    statementCount: 0,
    transaction: <Result>(work: Parameters<typeof database.transaction<Result>>[0]) =>
      database.transaction<Result>((db) =>
        work({
          query: (statement) => {
            counted.statementCount++;
            return db.query(statement);
          },
        }),
      ),
  };
  return counted;
}

beforeEach(async () => {
  await world.sync([parent, { externalId: 'child-0', schedule: dormantBelow('parent') }]);
  // Written as a set: declaring them is not what is measured here.
  await world.rows(sql`
    with others as (
      insert into waybill.manifest (external_id, workflow_name, group_id, schedule_type, dependency_mode, owner)
      select 'child-' || n, workflow_name, group_id, schedule_type, dependency_mode, owner
        from waybill.manifest, generate_series(1, ${MOST}) n where external_id = 'child-0'
      returning id
    )
    insert into waybill.manifest_dependency (child_id, parent_id)
    select o.id, p.id from others o, waybill.manifest p where p.external_id = 'parent'`);
});

const ask = (database: Database, capability: Capability, activations: typeof asked, key?: string) =>
  activate({ database, doorbell: world.doorbell }, { ...capability, activations, key });

it('ten thousand are activated in one transaction of as many statements as one, with one poke', { timeout: 60_000 }, async () => {
  const capability = await world.begin();
  const [single, all] = [counting(world.database), counting(world.database)];
  await ask(single, capability, asked.slice(0, 1), 'single');
  world.doorbell.dispatcherPokes = 0;
  const startedAt = performance.now();
  const results = await ask(all, capability, asked, 'all');
  console.log(`${MOST} activations in one transaction: ${Math.round(performance.now() - startedAt)} ms`);

  expect(all.statementCount).toBe(single.statementCount);
  expect(world.doorbell.dispatcherPokes).toBe(1);
  expect(results.map(({ externalId }) => externalId)).toEqual(names);
  expect(results[0]).toEqual({ externalId: 'child-0', outcome: 'skipped', reason: 'already_queued' });
  expect(results.slice(1).every(({ outcome }) => outcome === 'activated')).toBe(true);
  const [counts] = await world.rows(sql`
    select (select count(*)::int from waybill.work_queue where status = 'queued' and origin = 'activation') as entries,
           (select count(*)::int from waybill.execution_step) as steps,
           (select bool_and(m.external_id = 'child-' || (w.input ->> 'index')) from waybill.work_queue w join waybill.manifest m on m.id = w.manifest_id
             where w.origin = 'activation') as "isOwnInput"`);
  expect(counts).toEqual({ entries: MOST, steps: MOST + 1, isOwnInput: true });

  const again = performance.now();
  expect(await ask(world.database, capability, asked, 'all')).toEqual(results);
  console.log(`the recorded answer again: ${Math.round(performance.now() - again)} ms`);
});

it('one more than ten thousand is refused with the bound, and nothing is queued', async () => {
  const capability = await world.begin();
  const tooMany = [...asked, { externalId: `child-${MOST}`, input: { index: MOST } }];
  await expect(ask(world.database, capability, tooMany)).rejects.toMatchObject({
    code: 'invalid_request',
    message: '10001 activations were asked for: at most 10000 go into one request, split them',
  });
  expect(await world.rows(sql`select id from waybill.work_queue where origin = 'activation'`)).toEqual([]);
});

it('inputs that are too large together are refused with the bound', async () => {
  const capability = await world.begin();
  const large = asked.slice(0, 17).map(({ externalId }) => ({ externalId, input: { index: 0, text: 'x'.repeat(1024 * 1024 - 100) } }));
  await expect(ask(world.database, capability, large)).rejects.toThrow(/bytes of JSON together: at most 16777216 go into one request/);
});

it('of very many offenders the first are named and the rest counted', async () => {
  const capability = await world.begin();
  const unknown = Array.from({ length: 1_000 }, (_, index) => ({ externalId: `gone-${index}`, input: { index } }));
  await expect(ask(world.database, capability, unknown)).rejects.toMatchObject({
    message: expect.stringMatching(/'gone-0' does not exist; .*'gone-19' does not exist; and 980 more$/),
    externalIds: unknown.map(({ externalId }) => externalId),
  });
});
