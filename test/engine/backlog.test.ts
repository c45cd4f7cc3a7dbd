import { beforeEach, expect, it } from 'vitest';
import type { Database, Db } from '../../shared/db/database.ts';
import { sql } from '../../shared/db/sql.ts';
import { MOST_ROUNDS, managerCycle } from '../../shared/manager/cycle.ts';
import { readHealth } from '../../shared/operations/read-health.ts';
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

interface Interference {
  /** Whether the transaction of this number gets the lock. */
  lead?: (transaction: number) => boolean;
  /** Before a statement of the transaction of this number. */
  before?: (transaction: number, text: string) => Promise<void>;
}

/** The database, with the leadership as `lead` gives it, and with what its transactions do noted. */
function watch({ lead = () => true, before = async () => {} }: Interference = {}) {
  const seen = { transactionCount: 0, open: 0, mostOpen: 0 };
  const database: Database = {
    ...engine.database,
    transaction(work) {
      const number = ++seen.transactionCount;
      return engine.database.transaction(async (db) => {
        seen.mostOpen = Math.max(seen.mostOpen, ++seen.open);
        const query: Db['query'] = async (statement) => {
          await before(number, statement.text);
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

it('a backlog is queued by rounds side by side, each manifest once, and the last round runs alone', async () => {
  const { database, seen } = watch();
  const { queuedCount, dueCount } = await managerCycle({ database, doorbell: engine.doorbell, pools, batchSize: BATCH });
  expect({ queuedCount, dueCount, entries: await countEntries() }).toEqual({ queuedCount: COUNT, dueCount: COUNT, entries: COUNT });
  // One alone, four side by side of which three are full and look again, and the last one.
  expect(seen).toMatchObject({ transactionCount: 1 + MOST_ROUNDS + 3 + 1, open: 0 });
  expect(seen.mostOpen).toBeGreaterThan(1);
  expect(engine.doorbell.dispatcherPokes).toBe(1);
  expect(await readHealth(engine.database, 'any')).toMatchObject({ lastCycle: { dueCount: COUNT, queuedCount: COUNT, skippedCount: 0 } });
});

it('a manager that loses its leadership in between pokes for what it has queued', async () => {
  const { database } = watch({ lead: (transaction) => transaction === 1 });
  const { isLeader, queuedCount } = await managerCycle({ database, doorbell: engine.doorbell, pools, batchSize: BATCH });
  expect({ isLeader, queuedCount, entries: await countEntries() }).toEqual({ isLeader: true, queuedCount: BATCH, entries: BATCH });
  expect(engine.doorbell.dispatcherPokes).toBe(1);
});

it('a manager that never leads does nothing', async () => {
  const { database } = watch({ lead: () => false });
  expect(await managerCycle({ database, doorbell: engine.doorbell, pools, batchSize: BATCH })).toMatchObject({
    isLeader: false,
    dueCount: 0,
  });
  expect(await countEntries()).toBe(0);
  expect(engine.doorbell.dispatcherPokes).toBe(0);
});

it('a cycle of which one round fails ends when none of its transactions is open any more: a frozen function would hold what they locked', async () => {
  const hasFailed = Promise.withResolvers<void>();
  const { database, seen } = watch({
    before: async (transaction, text) => {
      if (transaction === 2 && text.includes('skip locked')) {
        hasFailed.resolve();
        throw new Error('the connection was lost');
      }
      if (transaction === 3 && text.includes('skip locked')) await hasFailed.promise;
    },
  });
  const cycle = managerCycle({ database, doorbell: engine.doorbell, pools, batchSize: BATCH });
  await expect(cycle).rejects.toThrow('the connection was lost');
  expect(seen.open).toBe(0);
  expect(await countEntries()).toBe(COUNT);
});
