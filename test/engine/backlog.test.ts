import { beforeEach, expect, it } from 'vitest';
import type { Database, Db } from '../../shared/db/database.ts';
import { sql } from '../../shared/db/sql.ts';
import { managerCycle } from '../../shared/manager/cycle.ts';
import { clear, pools, useEngine } from '../support/engine.ts';

const engine = useEngine();
const COUNT = 45;
const BATCH = 10;

beforeEach(async () => {
  await clear(engine);
  engine.doorbell.dispatcherPokes = 0;
  await engine.sync(
    Array.from({ length: COUNT }, (_, index) => ({
      externalId: `job-${index}`,
      schedule: { type: 'interval' as const, intervalSeconds: 3600, anchor: 'occurrence' as const },
    })),
  );
});

/** The database, with the leadership as `lead` gives it, and with what its transactions do noted. */
function watch(lead: (transaction: number) => boolean) {
  const seen = { transactionCount: 0, open: 0, mostOpen: 0 };
  const database: Database = {
    ...engine.database,
    transaction(work) {
      const number = ++seen.transactionCount;
      return engine.database.transaction(async (db) => {
        seen.mostOpen = Math.max(seen.mostOpen, ++seen.open);
        const query: Db['query'] = async (statement) => {
          const rows = await db.query<never>(statement);
          return statement.text.includes('pg_try_advisory_xact_lock') && !lead(number) ? ([{ acquired: false }] as never) : rows;
        };
        return work({ ...db, query }).finally(() => seen.open--);
      });
    },
  };
  return { database, seen };
}

const countEntries = async () =>
  (await engine.rows(sql`select distinct manifest_id from waybill.work_queue where status = 'queued'`)).length;

it('a backlog is queued by two rounds side by side, each manifest once, and the last round runs alone', async () => {
  const { database, seen } = watch(() => true);
  const { queuedCount, dueCount } = await managerCycle({ database, doorbell: engine.doorbell, pools, batchSize: BATCH });
  expect({ queuedCount, dueCount, entries: await countEntries() }).toEqual({ queuedCount: COUNT, dueCount: COUNT, entries: COUNT });
  expect(seen).toEqual({ transactionCount: 6, open: 0, mostOpen: 2 });
  expect(engine.doorbell.dispatcherPokes).toBe(1);
});

it('a manager that loses its leadership in between pokes for what it has queued', async () => {
  const { database } = watch((transaction) => transaction === 1);
  const { isLeader, queuedCount } = await managerCycle({ database, doorbell: engine.doorbell, pools, batchSize: BATCH });
  expect({ isLeader, queuedCount, entries: await countEntries() }).toEqual({ isLeader: true, queuedCount: BATCH, entries: BATCH });
  expect(engine.doorbell.dispatcherPokes).toBe(1);
});

it('a manager that never leads does nothing', async () => {
  const { database } = watch(() => false);
  expect(await managerCycle({ database, doorbell: engine.doorbell, pools, batchSize: BATCH })).toMatchObject({
    isLeader: false,
    dueCount: 0,
  });
  expect(await countEntries()).toBe(0);
  expect(engine.doorbell.dispatcherPokes).toBe(0);
});
