import { describe, expect, it } from 'vitest';
import type { Database } from '../../shared/db/database.ts';
import { sql } from '../../shared/db/sql.ts';
import { syncApp } from '../../shared/define/sync.ts';
import { prune } from '../../shared/housekeeping/prune.ts';
import { rerun } from '../../shared/operations/rerun.ts';
import { runWorkflow } from '../../shared/operations/run-workflow.ts';
import { beforeStatement, settlesOrWaits } from '../engine/interleave.ts';
import { none, useWorld } from '../engine/use-world.ts';

const world = useWorld();
const keepHouse = (database: Database = world.database) => prune(database, { retentionDays: 90 });
const days = (count: number) => world.clock.advance(count * 86_400);
const readGroup = async () =>
  (await world.rows<{ orphaned_at: Date | null }>(sql`select * from waybill.manifest_group where name = 'work'`))[0];

/** Everything that uses a group anew. Its run ends at once. */
const uses: [string, (database: Database) => Promise<unknown>][] = [
  ['an ad-hoc run', (database) => runWorkflow({ ...world.context, database }, { workflow: 'work' })],
  [
    'a manifest that is declared in it',
    (database) =>
      syncApp(
        database,
        {
          name: 'test',
          workflows: [{ name: 'work', pool: 'default' }],
          groups: [{ name: 'elsewhere' }, { name: 'work' }],
          manifests: [
            { externalId: 'job', workflow: 'work', input: {}, group: 'elsewhere', schedule: none },
            { externalId: 'other', workflow: 'work', input: {}, group: 'work', schedule: none },
          ],
        },
        'hash',
      ),
  ],
];

/** A group of ad-hoc runs that nothing but history names, as the next pass of housekeeping will find out. */
async function leaveBehind(): Promise<void> {
  await world.empty();
  await world.sync([{ externalId: 'job', schedule: none, group: 'elsewhere' }]);
  await runWorkflow(world.context, { workflow: 'work' });
  await world.drain();
}

/** One that has been an orphan for so long that the next pass removes it. */
async function orphan(): Promise<void> {
  await leaveBehind();
  await keepHouse();
  expect((await readGroup())?.orphaned_at).toEqual(world.clock.now());
  days(92);
}

/** What came in between has its group; and as long as its history is kept, the group is. */
async function expectKept(): Promise<void> {
  expect((await readGroup())?.orphaned_at).toBeNull();
  await world.drain();
  days(60);
  await keepHouse();
  expect(
    await world.rows(sql`select from waybill.execution e where not exists (select from waybill.manifest_group g where g.id = e.group_id)`),
  ).toEqual([]);
  expect(await readGroup()).toBeDefined();
}

it('a group of ad-hoc runs goes a retention after the last of them', async () => {
  await orphan();
  expect(await keepHouse()).toMatchObject({ executionCount: 1, entryCount: 1, groupCount: 1 });
  expect(await readGroup()).toBeUndefined();
});

it('a group whose manifest was removed goes a retention after the manifest', async () => {
  await world.sync([{ externalId: 'job', schedule: none, group: 'work' }]);
  await world.sync([{ externalId: 'other', schedule: none, group: 'elsewhere' }]);
  days(92);
  expect(await keepHouse()).toMatchObject({ manifestCount: 1, groupCount: 0 });
  days(92);
  expect(await keepHouse()).toMatchObject({ groupCount: 1 });
  expect(await readGroup()).toBeUndefined();
});

it('an ad-hoc run that is run again takes its group back into use', async () => {
  await world.sync([{ externalId: 'job', schedule: none, group: 'elsewhere' }]);
  await runWorkflow(world.context, { workflow: 'work' });
  await world.drain();
  await keepHouse();
  days(80);
  const [execution] = await world.rows<{ id: string }>(sql`select id::text from waybill.execution`);
  await rerun(world.context, execution!.id);
  await expectKept();
});

const beginnings: [string, () => Promise<void>][] = [
  ['a group that is an orphan, but was not found yet', leaveBehind],
  ['a group that has long been an orphan', orphan],
];
const cases = beginnings.flatMap(([of, prepare]) => uses.map(([what, use]) => ({ of, prepare, what, use })));

describe.each(cases)('$what, of $of', ({ prepare, use }) => {
  it('takes it back into use', async () => {
    await prepare();
    await use(world.database);
    await expectKept();
  });

  it('finds its group, or creates it anew, before whichever statement of housekeeping it comes', async () => {
    for (let number = 0; ; number++) {
      await prepare();
      let using: Promise<unknown> | undefined;
      const database = beforeStatement(world.database, number, async () => {
        using = use(world.database);
        await settlesOrWaits(world.database, using);
      });
      await keepHouse(database);
      if (!database.hasInterrupted()) {
        expect(number).toBeGreaterThan(10);
        return;
      }
      await using;
      await expectKept();
    }
  }, 120_000);

  it('keeps its group, before whichever of its statements housekeeping comes', async () => {
    for (let number = 0; ; number++) {
      await prepare();
      const database = beforeStatement(world.database, number, () => keepHouse());
      await use(database);
      if (!database.hasInterrupted()) {
        expect(number).toBeGreaterThan(3);
        return;
      }
      await expectKept();
    }
  }, 120_000);
});
