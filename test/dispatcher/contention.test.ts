import { beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../shared/db/database.ts';
import { sql } from '../../shared/db/sql.ts';
import { claimQueuedWork } from '../../shared/dispatcher/cycle.ts';
import { clear, useEngine } from '../support/engine.ts';
import { countWhileLocking, countWhilePassingOverLocks } from './plant-wrong-claim.ts';
import { createGroup, createManifests, poolOf, queueEntries } from './queue-work.ts';
import { raceDispatchers } from './race-dispatchers.ts';

const engine = useEngine();
const CAP = 4;
const pools = { default: poolOf(1_000) };
const claim = (database: Database) => claimQueuedWork(database, { pools, limit: 100 });

beforeEach(() => clear(engine));

/** Half of the entries belong to manifests, which are locked on the way, half to nobody. */
async function queueMany(groupIds: number[], count: number): Promise<void> {
  const manifestIds = await createManifests(
    engine,
    groupIds[0]!,
    Array.from({ length: count / 2 }, (_, index) => `job-${index}`),
  );
  await queueEntries(
    engine,
    Array.from({ length: count }, (_, index) => ({
      groupId: groupIds[index % groupIds.length]!,
      priority: Math.floor(Math.random() * 64),
      manifestId: manifestIds[index],
      ageMicroseconds: Math.floor(Math.random() * 3_600_000_000),
    })),
  );
}

async function expectEachExecutedOnce(count: number): Promise<void> {
  const [executed] = await engine.rows(sql`
    select count(*) as executions, count(distinct e.work_queue_id) as entries, count(*) filter (where w.status = 'dispatched') as dispatched
      from waybill.execution e left join waybill.work_queue w on w.id = e.work_queue_id`);
  expect(executed).toEqual({ executions: count, entries: count, dispatched: count });
}

it('eight dispatchers at once never exceed a group’s capacity and execute each of 2,000 entries once', { timeout: 120_000 }, async () => {
  const groupId = await createGroup(engine, 'etl', { maxActiveJobs: CAP });
  await queueMany([groupId], 2_000);
  const figures = await raceDispatchers({ engine, claim, dispatcherCount: 8, seconds: 90 });
  expect(figures).toMatchObject({ peak: CAP, queuedCount: 0 });
  await expectEachExecutedOnce(2_000);
});

it('eight dispatchers at once never exceed the capacity of the whole, over several groups', { timeout: 60_000 }, async () => {
  await engine.database.query(sql`update waybill.capacity set max_active_jobs = 7`);
  const groupIds: number[] = [];
  for (let index = 0; index < 6; index++) groupIds.push(await createGroup(engine, `group-${index}`, { maxActiveJobs: index ? 3 : null }));
  await queueMany(groupIds, 600);
  const figures = await raceDispatchers({ engine, claim, dispatcherCount: 8, seconds: 40 });
  expect(figures).toMatchObject({ peak: 7, queuedCount: 0 });
  for (const groupId of groupIds.slice(1)) expect(figures.peakOfGroup.get(groupId)).toBeLessThanOrEqual(3);
  await expectEachExecutedOnce(600);
});

it('eight dispatchers with more groups than one claim may take execute each entry once', { timeout: 60_000 }, async () => {
  const groupIds: number[] = [];
  for (let index = 0; index < 30; index++) groupIds.push(await createGroup(engine, `group-${index}`, { maxActiveJobs: 1 }));
  await queueMany(groupIds, 600);
  const narrow = (database: Database) => claimQueuedWork(database, { pools, limit: 5 });
  const figures = await raceDispatchers({ engine, claim: narrow, dispatcherCount: 8, seconds: 40 });
  expect(figures.queuedCount).toBe(0);
  expect(new Set(figures.peakOfGroup.values())).toEqual(new Set([1]));
  await expectEachExecutedOnce(600);
});

describe('the same race shows that a claim is wrong', () => {
  it.each([
    ['counts while it passes over locks', countWhilePassingOverLocks],
    ['counts in the statement that locks the group', countWhileLocking],
  ])('which %s', async (_, wrongClaim) => {
    const groupId = await createGroup(engine, 'etl', { maxActiveJobs: CAP });
    await queueEntries(
      engine,
      Array.from({ length: 1_000 }, () => ({ groupId })),
    );
    const figures = await raceDispatchers({ engine, claim: wrongClaim, dispatcherCount: 8, seconds: 20, stopAtPeak: CAP + 1 });
    expect(figures.peak).toBeGreaterThan(CAP);
    await clear(engine);
  });
});
