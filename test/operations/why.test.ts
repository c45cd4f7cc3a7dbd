import { beforeEach, describe, expect, it } from 'vitest';
import { sql } from '../../shared/db/sql.ts';
import { disableManifest, enableManifest } from '../../shared/operations/switch-manifest.ts';
import { trigger } from '../../shared/operations/trigger.ts';
import { type PoolSizes, why } from '../../shared/operations/why.ts';
import { clear, pools, useEngine, workflowNamed } from '../support/engine.ts';

const START = '2026-03-02T00:00:00.000Z';
const engine = useEngine({ startAt: START });
const none = { type: 'none' as const };
const afterParents = (...dependsOn: string[]) => ({ type: 'dependent' as const, dependsOn, mode: 'all' as const });
const failing = () => [workflowNamed('work', () => Promise.reject(new Error('broken')))];
const context = () => ({ ...engine, initiator: { type: 'user' as const, id: 'ada', name: 'ada' } });

beforeEach(async () => {
  engine.clock.set(START);
  engine.doorbell.bells.length = 0;
  await clear(engine);
});

const ask = (externalId: string, sizes: PoolSizes = pools) => why(engine.database, externalId, sizes);
const codesOf = async (externalId: string, sizes?: PoolSizes) => (await ask(externalId, sizes)).reasons.map(({ code }) => code);
const messageOf = async (externalId: string, code: string, sizes?: PoolSizes) =>
  (await ask(externalId, sizes)).reasons.find((reason) => reason.code === code)?.message;
const run = async (...names: string[]) => {
  for (const externalId of names) await trigger(context(), { externalId });
  await engine.dispatch();
};
const liveId = async () =>
  (await engine.rows<{ id: string }>(sql`select max(id)::text as id from waybill.execution where finished_at is null`))[0]!.id;

describe('a manifest that is underway', () => {
  beforeEach(() => engine.sync([{ externalId: 'job', schedule: none }]));

  it('was admitted and waits for an executor', async () => {
    await run('job');
    expect(await ask('job')).toMatchObject({ state: 'queued', runsNow: false });
    expect(await messageOf('job', 'starting')).toBe(
      `execution ${await liveId()} was admitted ${START} (now) and waits for an executor of pool 'default': its bell was rung 1 time`,
    );
  });

  it('runs, names its execution and since when, and that its cancellation was requested', async () => {
    await run('job');
    const id = await liveId();
    let during: unknown;
    await engine.deliver([
      workflowNamed('work', async () => {
        engine.clock.advance(30);
        await engine.database.query(sql`update waybill.execution set cancel_requested_at = waybill.now()`);
        during = await ask('job');
      }),
    ]);
    expect(during).toMatchObject({
      state: 'running',
      runsNow: true,
      reasons: [
        { code: 'running', message: `execution ${id}, attempt 1, has been running since ${START} (30 seconds ago)` },
        { code: 'cancelling' },
        { code: 'manual' },
      ],
    });
  });

  it('lost its executor', async () => {
    await run('job');
    let codes: string[] = [];
    await engine.deliver([
      workflowNamed('work', async () => {
        engine.clock.advance(60);
        codes = await codesOf('job');
        engine.clock.advance(-60);
      }),
    ]);
    expect(codes).toEqual(['running', 'lease_expired', 'manual']);
  });

  it('queues what is asked for behind it', async () => {
    await run('job');
    const { queueEntryId } = await trigger(context(), { externalId: 'job' });
    expect(await messageOf('job', 'behind_execution')).toBe(`entry ${queueEntryId} waits until execution ${await liveId()} has ended`);
    await trigger(context(), { externalId: 'job', input: { at: 'once' }, delaySeconds: 60 });
    expect(await messageOf('job', 'behind_entry')).toBe(`1 further entry of this manifest waits behind entry ${queueEntryId}`);
    await engine.deliver();
  });
});

describe('an entry that waits', () => {
  it('for nothing is admitted by the next claim', async () => {
    await engine.sync([{ externalId: 'job', schedule: none }]);
    const { queueEntryId } = await trigger(context(), { externalId: 'job' });
    expect((await ask('job')).reasons[0]).toEqual({
      code: 'queued',
      message: `entry ${queueEntryId} has been queued since ${START} (now): the dispatcher's next claim admits it`,
    });
    expect(await engine.dispatch()).toMatchObject({ admittedCount: 1 });
  });

  it('until its backoff is over says which attempt it is', async () => {
    await engine.sync([{ externalId: 'job', schedule: none, backoff: { initialSeconds: 300, jitter: 0 } }]);
    await run('job');
    await engine.deliver(failing());
    expect(await ask('job')).toMatchObject({ state: 'retrying', runsNow: false });
    expect(await messageOf('job', 'retry_wait')).toBe(
      'attempt 2 (3 failures are allowed) waits until 2026-03-02T00:05:00.000Z (in 5 minutes)',
    );
    await trigger(context(), { externalId: 'job', input: { a: 1 } });
    expect(await codesOf('job')).toEqual(['retry_wait', 'behind_entry', 'manual']);
  });

  it('until the instant it was delayed to says so, unless an earlier one of the series comes first', async () => {
    await engine.sync([{ externalId: 'job', schedule: none }]);
    const fresh = await trigger(context(), { externalId: 'job', delaySeconds: 7_200 });
    expect(await messageOf('job', 'delayed')).toBe(
      `entry ${fresh.queueEntryId} is delayed until 2026-03-02T02:00:00.000Z (in 2 hours): a trigger without input brings it forward`,
    );
    const series = await trigger(context(), { externalId: 'job', input: { a: 1 }, delaySeconds: 60 });
    expect(await messageOf('job', 'behind_entry')).toBe(`1 further entry of this manifest waits behind entry ${series.queueEntryId}`);
    engine.clock.advance(60);
    expect((await ask('job')).reasons[0]).toMatchObject({
      code: 'queued',
      message: expect.stringContaining(`entry ${series.queueEntryId}`),
    });
  });

  it('for a slot of its group says how many there are', async () => {
    await engine.sync(['a', 'b', 'c'].map((externalId) => ({ externalId, group: 'etl', schedule: none })));
    await engine.database.query(sql`update waybill.manifest_group set max_active_jobs = 2`);
    await run('a', 'b', 'c');
    expect(await messageOf('c', 'group_full')).toBe("group 'etl' is full: 2 live of at most 2");
    await engine.deliver();
    expect(await codesOf('c')).toEqual(['queued', 'manual']);
  });

  it('for its group, for the whole and for a pause names all three', async () => {
    await engine.sync([
      { externalId: 'a', schedule: none },
      { externalId: 'b', group: 'etl', schedule: none },
    ]);
    await run('a');
    await engine.database.query(sql`update waybill.manifest_group set is_enabled = false where name = 'etl'`);
    await engine.database.query(sql`update waybill.capacity set is_paused = true, max_active_jobs = 1`);
    const { queueEntryId } = await trigger(context(), { externalId: 'b' });
    expect((await ask('b')).reasons).toEqual([
      { code: 'paused', message: `everything is paused, so entry ${queueEntryId} is not admitted: POST /v1/unpause` },
      { code: 'capacity_full', message: 'global capacity is used up: 1 live of at most 1' },
      { code: 'group_disabled', message: `group 'etl' is disabled and holds entry ${queueEntryId} until it is enabled` },
      { code: 'manual', message: expect.any(String) },
    ]);
    await engine.deliver();
  });

  it('for a pool that is full, or that does not exist, names it', async () => {
    await engine.sync([
      { externalId: 'a', schedule: none },
      { externalId: 'b', schedule: none },
      { externalId: 'c', schedule: none, pool: 'gpu' },
    ]);
    await run('a', 'c');
    await trigger(context(), { externalId: 'b' });
    const sizes = { default: { concurrency: 1, batchSize: 1 }, heavy: { concurrency: 4, batchSize: 1 } };
    expect(await codesOf('b', sizes)).toEqual(['queued', 'manual']);
    await run('b');
    await trigger(context(), { externalId: 'b' });
    expect(await messageOf('b', 'pool_full', sizes)).toBe("pool 'default' is full: 2 live of at most 2");
    expect(await messageOf('c', 'pool_missing', sizes)).toMatch(
      /^pool 'gpu' of entry \d+ does not exist: this deployment has default, heavy$/,
    );
    for (const name of ['constructor', '__proto__']) {
      await engine.database.query(sql`update waybill.work_queue set pool = ${name} where status = 'queued' and pool = 'gpu'`);
      expect(await codesOf('c', sizes)).toContain('pool_missing');
      await engine.database.query(sql`update waybill.work_queue set pool = 'gpu' where pool = ${name}`);
    }
    await engine.deliver();
  });
});

describe('a manifest that is held', () => {
  it('by a dead letter, with whatever is queued behind it', async () => {
    await engine.sync([{ externalId: 'job', schedule: none, maxAttempts: 1 }]);
    await run('job');
    await engine.deliver(failing());
    const [letter] = await engine.rows<{ id: string }>(sql`select id::text from waybill.dead_letter`);
    engine.clock.advance(86_400 * 3);
    expect(await ask('job')).toMatchObject({ state: 'dead_lettered', runsNow: false });
    expect(await messageOf('job', 'dead_letter')).toBe(
      `dead letter ${letter!.id} (exhausted) has been waiting for a person since ${START} (3 days ago): retry or acknowledge it`,
    );
    await trigger(context(), { externalId: 'job' });
    expect(await codesOf('job')).toEqual(['dead_letter', 'manual']);
    expect(await engine.dispatch()).toMatchObject({ admittedCount: 0 });
  });

  it('by a quarantine, with the error', async () => {
    await engine.sync([{ externalId: 'job' }]);
    await engine.database.query(sql`update waybill.manifest set quarantine_error = 'time zone is unknown', next_due_at = null`);
    expect(await messageOf('job', 'quarantined')).toBe(
      'it is quarantined: time zone is unknown; its schedule rests until it is declared anew, and switching it off and on does not help',
    );
    for (const turn of [disableManifest, enableManifest]) await turn(context(), 'job');
    expect(await codesOf('job')).toEqual(['quarantined']);
  });

  it('because it is no longer declared and goes with its last run', async () => {
    await engine.sync([{ externalId: 'job', schedule: none }]);
    await run('job');
    await engine.sync([{ externalId: 'other', schedule: none }]);
    expect(await codesOf('job')).toEqual(['starting', 'retiring', 'manual']);
    await engine.deliver();
    await expect(ask('job')).rejects.toThrow("manifest 'job' does not exist");
  });

  it('because somebody disabled it', async () => {
    await engine.sync([{ externalId: 'job' }]);
    await disableManifest(context(), 'job');
    expect(await ask('job')).toEqual({
      state: 'disabled',
      runsNow: false,
      reasons: [{ code: 'disabled', message: 'it is disabled: its schedule rests until it is enabled; a trigger still runs it' }],
    });
  });
});

describe('a timed manifest', () => {
  it('tells when it is due next, that it is due, and what became of its last tick', async () => {
    await engine.sync([{ externalId: 'job' }]);
    expect(await messageOf('job', 'due')).toBe(`it has been due since ${START} (now): the manager's next cycle decides`);
    await engine.manage();
    await engine.dispatch();
    engine.clock.advance(60);
    await engine.manage();
    expect(await messageOf('job', 'scheduled')).toBe('it is due next at 2026-03-02T00:02:00.000Z (in 60 seconds)');
    expect(await messageOf('job', 'last_skip')).toBe('it was last skipped 2026-03-02T00:01:00.000Z (now), reason overlap; 1 skip in all');
    await engine.deliver();
  });

  it('of a disabled group has its ticks skipped', async () => {
    await engine.sync([{ externalId: 'job', group: 'etl' }]);
    await engine.database.query(sql`update waybill.manifest_group set is_enabled = false`);
    await engine.manage();
    expect((await ask('job')).reasons).toMatchObject([
      { code: 'group_disabled', message: "group 'etl' is disabled: its ticks are skipped until it is enabled" },
      { code: 'scheduled' },
      { code: 'last_skip' },
    ]);
  });

  it('that runs once waits for its instant, keeps it while it is held, and is done', async () => {
    await engine.sync([{ externalId: 'job', group: 'etl', schedule: { type: 'once', runAt: '2026-03-02T00:01:00Z' } }]);
    expect(await codesOf('job')).toEqual(['scheduled']);
    await engine.database.query(sql`update waybill.manifest_group set is_enabled = false`);
    expect(await codesOf('job')).toEqual(['group_disabled']);
    await engine.database.query(sql`update waybill.manifest_group set is_enabled = true`);
    engine.clock.advance(60);
    await engine.manage();
    expect(await codesOf('job')).toEqual(['queued']);
    await engine.dispatch();
    await engine.deliver();
    expect(await messageOf('job', 'done')).toBe('it is done: its only instant was 2026-03-02T00:01:00.000Z (now)');
  });
});

describe('a dependent', () => {
  const parents = [
    { externalId: 'a', schedule: none },
    { externalId: 'b', schedule: none },
  ];

  it('names each parent that has to succeed, with its count and what is consumed, until all have', async () => {
    await engine.sync([...parents, { externalId: 'child', schedule: afterParents('a', 'b') }]);
    await engine.manage();
    await run('a');
    await engine.deliver();
    await engine.manage();
    expect(await codesOf('child')).toEqual(['parent_not_ready', 'last_skip']);
    expect(await messageOf('child', 'parent_not_ready')).toBe(
      "parent 'b' has to succeed once more: it has succeeded 0 times, of which 0 are consumed",
    );
    await run('b');
    await engine.deliver();
    expect((await codesOf('child'))[0]).toBe('due');
    await engine.manage();
    await engine.dispatch();
    await engine.deliver();
    expect((await ask('child')).reasons.filter(({ code }) => code === 'parent_not_ready').map(({ message }) => message)).toEqual([
      "parent 'a' has to succeed once more: it has succeeded 1 time, of which 1 is consumed",
      "parent 'b' has to succeed once more: it has succeeded 1 time, of which 1 is consumed",
    ]);
  });

  it('of any parent is ready with the first', async () => {
    await engine.sync([...parents, { externalId: 'child', schedule: { ...afterParents('a', 'b'), mode: 'any' } }]);
    expect((await codesOf('child')).filter((code) => code === 'parent_not_ready')).toHaveLength(2);
    await run('a');
    await engine.deliver();
    expect((await codesOf('child'))[0]).toBe('due');
  });

  it('does not count a parent that is disabled', async () => {
    await engine.sync([...parents, { externalId: 'child', schedule: afterParents('a') }]);
    await run('a');
    await disableManifest(context(), 'a');
    await engine.deliver();
    expect(await messageOf('child', 'parent_disabled')).toBe(
      "parent 'a' is disabled, so it does not count: it has succeeded 1 time, of which 0 are consumed",
    );
  });

  it('of a disabled group is held, and without parents orphaned', async () => {
    await engine.sync([...parents, { externalId: 'child', group: 'etl', schedule: afterParents('a') }]);
    await engine.database.query(sql`update waybill.manifest_group set is_enabled = false where name = 'etl'`);
    expect(await codesOf('child')).toEqual(['group_disabled', 'parent_not_ready']);
    await engine.database.query(sql`update waybill.manifest set deleted_at = waybill.now(), next_due_at = null where external_id = 'a'`);
    expect(await codesOf('child')).toEqual(['orphaned']);
    await engine.database.query(sql`delete from waybill.manifest_dependency`);
    expect(await codesOf('child')).toEqual(['orphaned']);
  });

  it('that lost one of two parents names the one that is gone', async () => {
    await engine.sync([...parents, { externalId: 'child', schedule: afterParents('a', 'b') }]);
    await engine.database.query(sql`update waybill.manifest set deleted_at = waybill.now(), next_due_at = null where external_id = 'a'`);
    expect(await codesOf('child')).toEqual(['parent_deleted', 'parent_not_ready']);
  });

  it('that is dormant names who may activate it', async () => {
    await engine.sync([...parents, { externalId: 'child', schedule: { type: 'dormant_dependent', dependsOn: ['a', 'b'], mode: 'all' } }]);
    expect(await ask('child')).toEqual({
      state: 'dormant',
      runsNow: false,
      reasons: [{ code: 'dormant', message: "it is dormant: it runs only when 'a' or 'b' activates it while running" }],
    });
    await engine.database.query(sql`delete from waybill.manifest_dependency`);
    expect(await codesOf('child')).toEqual(['orphaned']);
  });
});

it('a manifest that does not exist is not found, whatever its name', async () => {
  for (const name of ['unknown', 'a\0', ''])
    await expect(ask(name)).rejects.toThrow('does not exist: GET /v1/manifests lists those that do');
});
