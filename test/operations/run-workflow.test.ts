import { beforeEach, expect, it } from 'vitest';
import type { Database } from '../../shared/db/database.ts';
import { sql } from '../../shared/db/sql.ts';
import { runWorkflow } from '../../shared/operations/run-workflow.ts';
import { clear, useEngine } from '../support/engine.ts';

const engine = useEngine();

beforeEach(async () => {
  await clear(engine);
  await engine.sync([{ externalId: 'job', group: 'elsewhere' }]);
  await engine.database.query(sql`insert into waybill.manifest_group (name) values ('work')`);
});

/** Removes the group, as housekeeping does with one that nothing names, each time before it is held. */
function removingGroup(mostTimes: number): Database & { removedCount: number } {
  const { database } = engine;
  const removing = {
    ...database,
    removedCount: 0,
    transaction: <Result>(work: Parameters<typeof database.transaction<Result>>[0]) =>
      database.transaction<Result>((db) =>
        work({
          query: async (statement) => {
            if (statement.text.includes('insert into waybill.work_queue') && removing.removedCount < mostTimes) {
              removing.removedCount++;
              // In the same transaction: a group that this run has just created is seen by nobody else.
              await db.query(sql`delete from waybill.manifest_group where name = 'work'`);
            }
            return db.query(statement);
          },
        }),
      ),
  };
  return removing;
}

const run = (database: Database) =>
  runWorkflow({ database, doorbell: engine.doorbell, initiator: { type: 'user', id: 'u1', name: 'Ada' } }, { workflow: 'work' });

it('a run whose group is removed while it is queued creates it once more', async () => {
  const database = removingGroup(1);
  const { queueEntryId } = await run(database);
  expect(database.removedCount).toBe(1);
  expect(
    await engine.rows(sql`select w.id::text, g.name from waybill.work_queue w join waybill.manifest_group g on g.id = w.group_id`),
  ).toEqual([{ id: queueEntryId, name: 'work' }]);
});

it('a run whose group is removed again and again says so, and nothing is queued', async () => {
  await expect(run(removingGroup(99))).rejects.toMatchObject({
    code: 'group_gone',
    retryable: true,
    message: "group 'work' was removed while the run was queued: try again",
  });
  expect(await engine.rows(sql`select from waybill.work_queue`)).toEqual([]);
});
