import { beforeAll, describe, expect, it } from 'vitest';
import { sql } from '../../shared/db/sql.ts';
import { claimQueuedWork } from '../../shared/dispatcher/cycle.ts';
import type { ManifestId } from '../../shared/model/ids.ts';
import { clear, useEngine } from '../support/engine.ts';
import { analyze, explainClaim, freezeStatistics } from './explain-claim.ts';
import { completeExecutions, createGroup, createManifests, type EntryToQueue, liveExecutions, poolOf, queueEntries } from './queue-work.ts';

const engine = useEngine();
const GROUPS = 40;
const pools = { default: poolOf(1_000) };

/** Manifests with a long past: 20,000 executions, all ended, and their entries. Statistics know this past and nothing since. */
async function makeHistory(): Promise<void> {
  await clear(engine);
  await freezeStatistics(engine);
  const groupId = await createGroup(engine, 'history');
  const manifestIds = await createManifests(
    engine,
    groupId,
    Array.from({ length: 20 }, (_, index) => `old-${index}`),
  );
  await engine.database.query(sql`
    with entry as (
      insert into waybill.work_queue (workflow_name, manifest_id, group_id, status, dispatched_at, origin, initiator_type)
      select 'work', m, ${groupId}, 'dispatched', waybill.now(), 'manual', 'user' from unnest(${manifestIds}::bigint[]) m, generate_series(1, 1000)
      returning id, manifest_id
    )
    insert into waybill.execution (root_id, run_id, work_queue_id, manifest_id, workflow_name, group_id, pool, state, finished_at, origin, initiator_type)
    select id, id, id, manifest_id, 'work', ${groupId}, 'default', 'completed', waybill.now(), 'manual', 'user' from entry`);
  await analyze(engine);
}

/** A group whose slots are all taken, with 100,000 entries that rank before all others, beside groups with a few entries each. */
async function queueBesideFullGroup(): Promise<void> {
  const full = await createGroup(engine, 'full', { maxActiveJobs: 4, priority: 31 });
  await queueEntries(
    engine,
    Array.from({ length: 4 }, () => ({ groupId: full })),
  );
  await claimQueuedWork(engine.database, { pools, limit: 4 });
  await engine.database.query(sql`
    insert into waybill.work_queue (workflow_name, group_id, priority, origin, initiator_type)
    select 'work', ${full}, 60, 'manual', 'user' from generate_series(1, 100000)`);
  const entries: EntryToQueue[] = [];
  for (let index = 0; index < GROUPS; index++) {
    const groupId = await createGroup(engine, `group-${index}`, { maxActiveJobs: index % 2 ? 5 : null });
    const manifestIds = await createManifests(
      engine,
      groupId,
      Array.from({ length: 60 }, (_, job) => `job-${index}-${job}`),
    );
    entries.push(...manifestIds.map((manifestId, job) => ({ groupId, manifestId, ageMicroseconds: (job * 7_919) % 61 })));
  }
  // Queued by turns, so that the entries of a group lie far apart, which makes reading all of them at once tempting.
  await queueEntries(
    engine,
    entries.toSorted((a, b) => a.ageMicroseconds! - b.ageMicroseconds!),
  );
}

/** One claim that takes from all groups and one for which there are too many. */
async function expectProbesOnly(): Promise<void> {
  for (const limit of [50, 20]) {
    const liveCount = (await liveExecutions(engine)).length;
    const { admitted, scans } = await explainClaim(engine, { pools, limit });
    expect(admitted).toHaveLength(limit);
    expect(scans.filter(({ type, relation }) => /seq|bitmap/i.test(type) && ['work_queue', 'execution'].includes(relation))).toEqual([]);
    expect(scans).toContainEqual(expect.objectContaining({ relation: 'work_queue', index: 'work_queue_claimable' }));
    const rowsOf = (table: string) => scans.filter(({ relation }) => relation === table).reduce((sum, { rowCount }) => sum + rowCount, 0);
    // A few per group to find and to read it, and twice what is taken for each of at most three rounds, all of them asked whether a retry is queued.
    expect(rowsOf('work_queue')).toBeLessThan(5 * GROUPS + 14 * limit);
    // Counted for their pool before and after the lock, and so for their group.
    expect(rowsOf('execution')).toBeLessThanOrEqual(4 * liveCount);
  }
}

// The three share one queue, for which the statistics become better from test to test.
describe('a group with 100,000 queued entries at capacity costs a claim of other groups nothing', { timeout: 60_000 }, () => {
  beforeAll(async () => {
    await makeHistory();
    await queueBesideFullGroup();
  });

  it('with the statistics of a time when nothing was queued and nothing ran', () => expectProbesOnly());

  it('with statistics gathered while an old snapshot kept every version of what was claimed since', () =>
    engine.database.transaction(async (db) => {
      await db.query(sql`declare old_snapshot cursor for select from waybill.execution`);
      for (let round = 0; round < 3; round++) {
        const { admitted } = await claimQueuedWork(engine.database, { pools, limit: 100 });
        await completeExecutions(
          engine,
          admitted.map(({ id }) => id),
        );
      }
      await analyze(engine);
      await expectProbesOnly();
    }));

  it('with the statistics of now', async () => {
    await analyze(engine);
    await expectProbesOnly();
  });
});

it('reads of each of two hundred groups no more than may be taken, although reading all of a small group looks cheap', async () => {
  await clear(engine);
  await freezeStatistics(engine);
  await engine.database.query(sql`insert into waybill.manifest_group (name) select 'group-' || n from generate_series(1, 200) n`);
  await engine.database.query(sql`
    insert into waybill.work_queue (workflow_name, group_id, priority, origin, initiator_type)
    select 'work', g.id, (n * 31 + g.id) % 60, 'manual', 'user' from generate_series(1, 60) n, waybill.manifest_group g order by n`);
  await analyze(engine);
  for (const limit of [100, 500]) {
    const { admitted, scans } = await explainClaim(engine, { pools, limit });
    expect(admitted).toHaveLength(limit);
    const ofQueue = scans.filter(({ relation }) => relation === 'work_queue');
    expect(ofQueue.filter(({ type }) => /seq|bitmap/i.test(type))).toEqual([]);
    expect(ofQueue.reduce((sum, { rowCount }) => sum + rowCount, 0)).toBeLessThan(5 * 200 + 7 * limit);
  }
});

describe('with a group for each of 20,000 entries a claim reads what it admits', { timeout: 60_000 }, () => {
  const expectFrontOnly = async () => {
    for (const limit of [2, 50]) {
      const { admitted, scans } = await explainClaim(engine, { pools, limit });
      expect(admitted).toHaveLength(limit);
      const ofQueue = scans.filter(({ relation }) => relation === 'work_queue');
      expect(ofQueue.filter(({ type }) => /seq|bitmap/i.test(type))).toEqual([]);
      // Some three hundred to learn that there are many groups, then four for each that may be admitted, of which each is looked at a few times.
      expect(ofQueue.reduce((sum, { rowCount }) => sum + rowCount, 0)).toBeLessThan(400 + 40 * limit);
    }
  };

  beforeAll(async () => {
    await makeHistory();
    await engine.database.query(sql`insert into waybill.manifest_group (name) select 'group-' || n from generate_series(1, 20000) n`);
    await engine.database.query(sql`
      insert into waybill.work_queue (workflow_name, group_id, origin, initiator_type)
      select 'work', id, 'manual', 'user' from waybill.manifest_group where name like 'group-%'`);
  });

  it('with the statistics of a time when nothing was queued and nothing ran', () => expectFrontOnly());

  it('with the statistics of now', async () => {
    await analyze(engine);
    await expectFrontOnly();
  });
});

it('a blocked entry costs a probe of the index of what is unfinished, and no walk over the past of its manifest', async () => {
  await makeHistory();
  const groupId = await createGroup(engine, 'etl');
  const manifests = await engine.rows<{ id: ManifestId }>(sql`select id from waybill.manifest order by id`);
  const entries = manifests.map(({ id }) => ({ groupId, manifestId: id }));
  await queueEntries(engine, entries);
  await claimQueuedWork(engine.database, { pools, limit: 100 });
  await queueEntries(engine, entries);
  const { admitted, scans } = await explainClaim(engine, { pools, limit: 100 });
  expect(admitted).toEqual([]);
  const used = scans.filter(({ relation, loopCount }) => relation === 'execution' && loopCount === entries.length);
  expect(used).toEqual([expect.objectContaining({ index: 'one_unfinished_execution_per_manifest', rowCount: entries.length })]);
});
