import pg from 'pg';
import { beforeEach, describe, expect, it } from 'vitest';
import { sql } from '../../shared/db/sql.ts';
import { claimQueuedWork } from '../../shared/dispatcher/cycle.ts';
import { clear, useEngine } from '../support/engine.ts';
import { analyze, explainClaim, keepStatistics, type Scan } from './explain-claim.ts';
import { completeExecutions, createGroup, createManifests, liveExecutions, poolOf, queueEntries } from './queue-work.ts';

const engine = useEngine();
const LIMIT = 50;
const GROUPS = 40;
const pools = { default: poolOf(1_000) };

beforeEach(async () => {
  await clear(engine);
  await keepStatistics(engine);
});

/** Manifests with a long past: 20,000 executions, all ended, and their entries. */
async function makeHistory(): Promise<void> {
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
  for (let index = 0; index < GROUPS; index++) {
    const groupId = await createGroup(engine, `group-${index}`, { maxActiveJobs: index % 2 ? 5 : null });
    const manifestIds = await createManifests(
      engine,
      groupId,
      Array.from({ length: 30 }, (_, job) => `job-${index}-${job}`),
    );
    await queueEntries(
      engine,
      manifestIds.map((manifestId) => ({ groupId, manifestId, priority: index % 7 })),
    );
  }
}

function expectProbesOnly(scans: Scan[]): void {
  expect(scans.filter(({ type, relation }) => /seq|bitmap/i.test(type) && ['work_queue', 'execution'].includes(relation))).toEqual([]);
  expect(scans).toContainEqual(expect.objectContaining({ relation: 'work_queue', index: 'work_queue_claimable' }));
  if (process.env.DEBUG_SCANS) console.log(scans.filter((s) => s.rowCount).map((s) => JSON.stringify(s)).join('\n'));
  const rowsOf = (table: string) => scans.filter(({ relation }) => relation === table).reduce((sum, { rowCount }) => sum + rowCount, 0);
  // Two per group to find it, three times what is taken to pick, each of those asked once for a retry, and what is taken once more to lock it.
  expect(rowsOf('work_queue')).toBeLessThan(2 * (GROUPS + 1) + 8 * LIMIT);
  // The four of the full group: counted once for their group and twice for their pool.
  expect(rowsOf('execution')).toBe(12);
}

describe('a group with 100,000 queued entries at capacity costs a claim of other groups nothing', () => {
  it('with the statistics of now', { timeout: 60_000 }, async () => {
    await makeHistory();
    await queueBesideFullGroup();
    await analyze(engine);
    const { admitted, scans } = await explainClaim(engine, { pools, limit: LIMIT });
    expect(admitted).toHaveLength(LIMIT);
    expectProbesOnly(scans);
  });

  it('with the statistics of a time when nothing was queued and nothing ran', { timeout: 60_000 }, async () => {
    await makeHistory();
    await analyze(engine);
    await queueBesideFullGroup();
    const { admitted, scans } = await explainClaim(engine, { pools, limit: LIMIT });
    expect(admitted).toHaveLength(LIMIT);
    expectProbesOnly(scans);
  });

  it('with statistics gathered while an old snapshot keeps every dead row', { timeout: 60_000 }, async () => {
    await makeHistory();
    const snapshot = new pg.Client({ connectionString: (await engine.rows<{ url: string }>(sql`select ''::text as url`))[0]!.url });
    expect(snapshot).toBeDefined();
    await queueBesideFullGroup();
    await completeExecutions(
      engine,
      (await liveExecutions(engine)).map(({ id }) => id),
    );
    await analyze(engine);
  });
});

describe('an entry that is blocked costs a probe of the index that knows what blocks it', () => {
  it('and not a walk over the past of its manifest', async () => {
    await makeHistory();
    await analyze(engine);
    const groupId = await createGroup(engine, 'etl');
    const manifests = await engine.rows<{ id: number }>(sql`select id from waybill.manifest order by id`);
    const entries = manifests.map(({ id }) => ({ groupId, manifestId: id as never }));
    await queueEntries(engine, entries);
    await claimQueuedWork(engine.database, { pools, limit: 100 });
    await queueEntries(engine, entries);
    const { admitted, scans } = await explainClaim(engine, { pools, limit: LIMIT });
    expect(admitted).toEqual([]);
    const probes = scans.filter(({ index, loopCount }) => index === 'one_unfinished_execution_per_manifest' && loopCount > 0);
    expect(probes.map(({ rowCount }) => rowCount)).toEqual([20]);
    expect(scans.filter(({ index, loopCount }) => index === 'execution_by_manifest' && loopCount > 0)).toEqual([]);
  });
});
