import { describe, expect, it } from 'vitest';
import { sql } from '../../shared/db/sql.ts';
import { claimQueuedWork, dispatcherClaim } from '../../shared/dispatcher/cycle.ts';
import type { ExecutionId, ManifestId, WorkQueueId } from '../../shared/model/ids.ts';
import { START, useFreshEngine } from '../support/engine.ts';
import { completeExecutions, createGroup, createManifests, entriesOf, liveExecutions, poolOf, queueEntries } from './queue-work.ts';

const engine = useFreshEngine();
const pools = { default: poolOf(100) };
const MINUTE = 60_000_000;

async function claim(limit = 100): Promise<WorkQueueId[]> {
  return entriesOf(engine, (await claimQueuedWork(engine.database, { pools, limit })).admitted);
}

async function completeAll(): Promise<void> {
  await completeExecutions(
    engine,
    (await liveExecutions(engine)).map(({ id }) => id),
  );
}

/** A run that ended in a dead letter, as the last attempt of it would have left it. */
async function deadLetter(groupId: number, manifestIds: ManifestId[]): Promise<void> {
  await engine.database.query(sql`
    with failed as (
      insert into waybill.execution (root_id, run_id, manifest_id, workflow_name, group_id, state, finished_at, failure_code, origin, initiator_type)
      select 0, 0, id, 'work', ${groupId}, 'failed', waybill.now(), 'thrown', 'manual', 'user' from unnest(${manifestIds}::bigint[]) id
      returning id, manifest_id
    )
    insert into waybill.dead_letter (manifest_id, execution_id, run_id, input, reason, failed_count)
    select manifest_id, id, id, '{}', 'exhausted', 3 from failed`);
}

describe('what holds everything or a group', () => {
  it('admits nothing while everything is paused, and goes on afterwards', async () => {
    const groupId = await createGroup(engine, 'etl');
    const ids = await queueEntries(engine, [{ groupId }]);
    await engine.database.query(sql`update waybill.capacity set is_paused = true, max_active_jobs = 5`);
    expect(await claim()).toEqual([]);
    await engine.database.query(sql`update waybill.capacity set is_paused = false`);
    expect(await claim()).toEqual(ids);
  });

  it('holds the entries of a disabled group, and only those', async () => {
    const off = await createGroup(engine, 'off', { isEnabled: false, priority: 31 });
    const on = await createGroup(engine, 'on');
    const [held, free] = await queueEntries(engine, [{ groupId: off }, { groupId: on }]);
    expect(await claim()).toEqual([free]);
    await engine.database.query(sql`update waybill.manifest_group set is_enabled = true`);
    expect(await claim()).toEqual([held]);
  });

  it('admits nothing from a group that was disabled while the claim waited for it', async () => {
    const groupId = await createGroup(engine, 'etl');
    await queueEntries(engine, [{ groupId }]);
    let claimed: Promise<WorkQueueId[]> | undefined;
    await engine.database.transaction(async (db) => {
      await db.query(sql`update waybill.manifest_group set is_enabled = false`);
      claimed = claim();
      await waitForLockWait();
    });
    expect(await claimed).toEqual([]);
  });

  it('counts the slots that were taken while the claim waited for the capacity of the whole', async () => {
    const groupId = await createGroup(engine, 'etl');
    await queueEntries(engine, [{ groupId }, { groupId }, { groupId }]);
    await engine.database.query(sql`update waybill.capacity set max_active_jobs = 2`);
    let claimed: Promise<WorkQueueId[]> | undefined;
    await engine.database.transaction(async (db) => {
      const { admitted } = await dispatcherClaim({}, { db, pools, limit: 1 });
      expect(admitted).toHaveLength(1);
      claimed = claim();
      await waitForLockWait();
    });
    expect(await claimed).toHaveLength(1);
  });
});

/** Until the other transaction stands at a lock of this one: there is no signal for that but Postgres's own view. */
async function waitForLockWait(): Promise<void> {
  await expect
    .poll(
      () =>
        engine.rows(sql`
          select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and cardinality(pg_blocking_pids(pid)) > 0`),
      { timeout: 10_000, interval: 20 },
    )
    .toHaveLength(1);
}

describe('pools', () => {
  it('has at most twice of what a pool’s executors take at once live, whatever the groups allow', async () => {
    const groupIds = [await createGroup(engine, 'a'), await createGroup(engine, 'b')];
    await queueEntries(
      engine,
      Array.from({ length: 40 }, (_, index) => ({ groupId: groupIds[index % 2]!, pool: index % 4 ? 'batch' : 'default' })),
    );
    const both = { ...pools, batch: { queueUrl: 'http://queue/batch', concurrency: 3, batchSize: 2 } };
    await claimQueuedWork(engine.database, { pools: both, limit: 100 });
    const live = await liveExecutions(engine);
    expect(live.filter(({ pool }) => pool === 'batch')).toHaveLength(12);
    expect(live.filter(({ pool }) => pool === 'default')).toHaveLength(10);
    expect(await claimQueuedWork(engine.database, { pools: both, limit: 100 })).toEqual({
      admitted: [],
      mayHaveMore: false,
      hasPassedOver: false,
    });
  });

  it('does not admit an entry whose pool does not exist, nor let it stand in the way', async () => {
    const groupId = await createGroup(engine, 'etl', { maxActiveJobs: 1 });
    const [, free] = await queueEntries(engine, [
      { groupId, pool: 'gone', priority: 63 },
      { groupId, priority: 0 },
    ]);
    expect(await claim()).toEqual([free]);
  });

  it('resolves the pool of an entry by its workflow, as it is deployed now', async () => {
    const groupId = await createGroup(engine, 'etl');
    await queueEntries(engine, [{ groupId }]);
    await engine.database.query(sql`
      with deployed as (insert into waybill.deployment (owner, definition_hash) values ('test', 'hash') returning version)
      insert into waybill.workflow (name, owner, pool, deployment_version) select 'work', 'test', 'heavy', version from deployed`);
    expect(await claim()).toEqual([]);
    const { admitted } = await claimQueuedWork(engine.database, { pools: { heavy: poolOf(2) }, limit: 100 });
    expect(admitted).toMatchObject([{ pool: 'heavy' }]);
  });
});

describe('one entry per manifest', () => {
  const occurrence = (minute: number) => new Date(Date.parse(START) + minute * 60_000);

  it('goes retry, fresh, then series by occurrence, one at a time', async () => {
    const groupId = await createGroup(engine, 'etl');
    const [manifestId] = await createManifests(engine, groupId, ['job']);
    const [late, early, fresh, retry] = await queueEntries(engine, [
      { groupId, manifestId, lane: 'series', occurrenceAt: occurrence(2), priority: 60 },
      { groupId, manifestId, lane: 'series', occurrenceAt: occurrence(1), priority: 50 },
      { groupId, manifestId, lane: 'fresh', priority: 20 },
      { groupId, manifestId, lane: 'retry', priority: 0 },
    ]);
    const order: WorkQueueId[] = [];
    for (let round = 0; round < 4; round++) {
      const admitted = await claim();
      expect(admitted).toHaveLength(1);
      expect(await claim(), 'none while the manifest has an unfinished execution').toEqual([]);
      order.push(...admitted);
      await completeAll();
    }
    expect(order).toEqual([retry, fresh, early, late]);
  });

  it('a retry that waits for its time keeps every other entry back, a delayed fresh one does not', async () => {
    const groupId = await createGroup(engine, 'etl');
    const [retrying, delayed] = await createManifests(engine, groupId, ['retrying', 'delayed']);
    const [, , , series] = await queueEntries(engine, [
      { groupId, manifestId: retrying, lane: 'retry', ageMicroseconds: -MINUTE },
      { groupId, manifestId: retrying, lane: 'fresh' },
      { groupId, manifestId: delayed, lane: 'fresh', ageMicroseconds: -MINUTE },
      { groupId, manifestId: delayed, lane: 'series', occurrenceAt: occurrence(0) },
    ]);
    expect(await claim()).toEqual([series]);
  });

  it('passes over a manifest that somebody else decides about, and admits its entry afterwards', async () => {
    const groupId = await createGroup(engine, 'etl');
    const [held, free] = await createManifests(engine, groupId, ['held', 'free']);
    const [first, second] = await queueEntries(engine, [
      { groupId, manifestId: held, priority: 9 },
      { groupId, manifestId: free },
    ]);
    await engine.database.transaction(async (db) => {
      await db.query(sql`select from waybill.manifest where id = ${held} for no key update`);
      expect(await claim()).toEqual([second]);
    });
    expect(await claim()).toEqual([first]);
  });

  it('finds the entry behind ten thousand blocked ones, of live, dead-lettered and retrying manifests and of a long series', async () => {
    const groupId = await createGroup(engine, 'etl');
    const names = (prefix: string) => Array.from({ length: 2_500 }, (_, index) => `${prefix}-${index}`);
    const dead = await createManifests(engine, groupId, names('dead'));
    const retrying = await createManifests(engine, groupId, names('retrying'));
    const live = await createManifests(engine, groupId, names('live'));
    const [long] = await createManifests(engine, groupId, ['long']);
    await queueEntries(
      engine,
      [...live, long!].map((manifestId) => ({ groupId, manifestId })),
    );
    await claimQueuedWork(engine.database, { pools: { default: poolOf(10_000) }, limit: 2_501 });
    await deadLetter(groupId, dead);
    const blocked = [
      ...[...dead, ...retrying, ...live].map((manifestId) => ({ groupId, manifestId })),
      ...names('series').map((_, index) => ({ groupId, manifestId: long, lane: 'series' as const, occurrenceAt: occurrence(index) })),
    ];
    await queueEntries(
      engine,
      retrying.map((manifestId) => ({ groupId, manifestId, lane: 'retry' as const, ageMicroseconds: -MINUTE })),
    );
    await queueEntries(
      engine,
      blocked.map((entry) => ({ ...entry, priority: 60 })),
    );
    expect(blocked).toHaveLength(10_000);
    const [free] = await queueEntries(engine, [{ groupId }]);
    const { admitted } = await claimQueuedWork(engine.database, { pools: { default: poolOf(10_000) }, limit: 100 });
    expect(await entriesOf(engine, admitted)).toEqual([free]);
  });
});

describe('entries that continue an execution', () => {
  /** A manifest's execution that sleeps: its own entry is queued again. */
  async function putToSleep(groupId: number, manifestId: ManifestId): Promise<{ executionId: ExecutionId; entryId: WorkQueueId }> {
    const [entryId] = await queueEntries(engine, [{ groupId, manifestId }]);
    expect(await claim()).toEqual([entryId]);
    const [execution] = await engine.rows<{ id: ExecutionId }>(sql`
      update waybill.execution set state = 'waiting', sent_at = waybill.now(), ring_count = 3, started_at = waybill.now()
       where work_queue_id = ${entryId} returning id`);
    await engine.database.query(sql`
      update waybill.work_queue set status = 'queued', dispatched_at = null, execution_id = ${execution!.id},
             available_at = waybill.now() + interval '1 hour' where id = ${entryId}`);
    return { executionId: execution!.id, entryId: entryId! };
  }

  it('a sleeper goes on when its time has come, although its manifest is unfinished and has a retry queued', async () => {
    const groupId = await createGroup(engine, 'etl');
    const [manifestId] = await createManifests(engine, groupId, ['job']);
    const { executionId, entryId } = await putToSleep(groupId, manifestId!);
    await queueEntries(engine, [{ groupId, manifestId, lane: 'retry' }]);
    expect(await claim()).toEqual([]);
    engine.clock.advance(3_600);
    const { admitted } = await claimQueuedWork(engine.database, { pools, limit: 100 });
    expect(admitted).toMatchObject([{ id: executionId, pool: 'default' }]);
    expect(
      await engine.rows(sql`select state, sent_at, ring_count, available_at from waybill.execution where id = ${executionId}`),
    ).toEqual([{ state: 'pending', sent_at: engine.clock.now(), ring_count: 1, available_at: engine.clock.now() }]);
    expect(await engine.rows(sql`select status, dispatched_at from waybill.work_queue where id = ${entryId}`)).toEqual([
      { status: 'dispatched', dispatched_at: engine.clock.now() },
    ]);
  });

  it('a plan’s waiting steps become pending within their group’s capacity, which is counted in the group of their entries', async () => {
    const groupId = await createGroup(engine, 'exports', { maxActiveJobs: 2 });
    const steps = await engine.rows<{ id: ExecutionId }>(sql`
      with entry as (
        insert into waybill.work_queue (group_id, status, dispatched_at, origin, initiator_type)
        values (${groupId}, 'dispatched', waybill.now(), 'manual', 'user') returning id
      ), plan as (
        insert into waybill.execution (root_id, run_id, work_queue_id, group_id, state, current_group_index, group_count, origin, initiator_type)
        overriding system value select 1000000, 1000000, id, ${groupId}, 'in_progress', 0, 1, 'manual', 'user' from entry returning id
      )
      insert into waybill.execution (parent_id, root_id, run_id, workflow_name, group_id, state, origin, initiator_type, group_index, position, step_name)
      select null, id, id, 'work', ${groupId}, 'waiting', 'plan', 'execution', 0, n, 'step ' || n from plan, generate_series(1, 3) n returning id`);
    await engine.database.query(sql`update waybill.execution set root_id = id, run_id = id`);
    await queueEntries(
      engine,
      steps.map(({ id }) => ({ groupId, executionId: id })),
    );
    const first = await claimQueuedWork(engine.database, { pools, limit: 100 });
    expect(first.admitted.map(({ id }) => id)).toEqual(steps.slice(0, 2).map(({ id }) => id));
    expect(await claim()).toEqual([]);
    await completeExecutions(engine, [steps[0]!.id]);
    const second = await claimQueuedWork(engine.database, { pools, limit: 100 });
    expect(second.admitted.map(({ id }) => id)).toEqual([steps[2]!.id]);
  });

  it('leaves an execution alone that somebody ends right now', async () => {
    const groupId = await createGroup(engine, 'etl');
    const [manifestId] = await createManifests(engine, groupId, ['job']);
    const { executionId, entryId } = await putToSleep(groupId, manifestId!);
    engine.clock.advance(3_600);
    await engine.database.transaction(async (db) => {
      await db.query(sql`update waybill.execution set state = 'cancelled', finished_at = waybill.now() where id = ${executionId}`);
      expect(await claim()).toEqual([]);
      await db.query(sql`update waybill.work_queue set status = 'cancelled', cancelled_at = waybill.now() where id = ${entryId}`);
    });
    expect(await claim()).toEqual([]);
    expect(await engine.rows(sql`select state from waybill.execution where id = ${executionId}`)).toEqual([{ state: 'cancelled' }]);
  });
});
