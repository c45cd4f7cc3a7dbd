import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Database, openDatabase } from '../../shared/db/database.ts';
import { sql } from '../../shared/db/sql.ts';
import { claimExecutions } from '../../shared/executor/claim-executions.ts';
import { recordOutcomes } from '../../shared/executor/record-outcomes.ts';
import type { ExecutionId } from '../../shared/model/ids.ts';
import { createLogger } from '../../shared/observability/log.ts';
import type { Outcome } from '../../shared/transitions/end-runs.ts';
import { workflowNamed } from '../support/engine.ts';
import { type SwallowingProxy, startSwallowingProxy } from '../support/swallowing-proxy.ts';
import { useExecutor } from './use-executor.ts';

const executor = useExecutor();
let proxy: SwallowingProxy;
let proxied: Database;

beforeEach(async () => {
  proxy = await startSwallowingProxy(executor.url);
  proxied = openDatabase({ url: proxy.url, maxConnections: 2 });
});
afterEach(async () => {
  await proxied.close();
  await proxy.close();
});

const options = () => ({ database: proxied, databaseOptions: { url: proxy.url }, timings: { recordingRetryMs: [1, 1] } });
const ends = () => executor.lines.filter(({ message }) => message === 'run ended');
const refusals = () => executor.lines.filter(({ message }) => String(message).includes('refused'));
const manifestOf = async (id: string) => {
  const [row] = await executor.database.query(sql`select * from waybill.manifest where id = ${id}`);
  return row;
};

describe('a commit whose acknowledgement is lost', () => {
  it('counts once, is recognized as our own, logged once, and pokes', async () => {
    const manifestId = await executor.plantManifest(randomUUID());
    const id = await executor.plant({ manifest_id: manifestId });
    const work = workflowNamed('work', () => {
      proxy.swallowCommits(1);
      return 'done';
    });
    const { ended } = await executor.run([id], [work], options());
    expect(proxy.swallowedCount).toBe(1);
    expect(ended).toMatchObject([{ executionId: id, state: 'completed', next: null }]);
    expect(await manifestOf(manifestId)).toMatchObject({ success_count: 1 });
    expect(ends()).toHaveLength(1);
    expect(refusals()).toEqual([]);
    expect(executor.doorbell.dispatcherPokes).toBe(1);
  });

  it('is recognized however often it happens in a row', async () => {
    const id = await executor.plant();
    const work = workflowNamed('work', () => proxy.swallowCommits(3));
    const { ended } = await executor.run([id], [work], options());
    expect(proxy.swallowedCount).toBe(3);
    expect(ended).toMatchObject([{ executionId: id, state: 'completed' }]);
    expect(ends()).toHaveLength(1);
  });

  it('of a failure queues one retry, and says so', async () => {
    const id = await executor.plant({ max_attempts: 3 });
    const work = workflowNamed('work', () => {
      proxy.swallowCommits(1);
      throw new Error('no');
    });
    const { ended } = await executor.run([id], [work], options());
    expect(ended).toMatchObject([{ executionId: id, state: 'failed', failureCode: 'thrown', next: 'retry' }]);
    expect(await executor.database.query(sql`select attempt from waybill.work_queue where run_id = ${id}`)).toEqual([{ attempt: 2 }]);
    expect(executor.doorbell.managerPokes).toHaveLength(1);
  });

  it('of the last failure writes one dead letter, and says so', async () => {
    const id = await executor.plant({ max_attempts: 1 });
    const work = workflowNamed('work', () => {
      proxy.swallowCommits(1);
      throw new Error('no');
    });
    const { ended } = await executor.run([id], [work], options());
    expect(ended).toMatchObject([{ state: 'failed', next: 'dead_letter' }]);
    expect(proxy.swallowedCount).toBe(1);
    expect(await executor.database.query(sql`select reason from waybill.dead_letter where run_id = ${id}`)).toEqual([
      { reason: 'exhausted' },
    ]);
  });
});

it('a claim that is repeated with its own token, because its answer was lost, gives what it took; with another token it gives nothing', async () => {
  const ids = [await executor.plant(), await executor.plant()];
  const leaseToken = randomUUID();
  const claim = { ids, leaseToken, leaseSeconds: 45, requestId: 'r', logStream: 'l' };
  await claimExecutions(executor.database, claim);
  const again = await claimExecutions(executor.database, claim);
  expect(again.claimed.map(({ id }) => id)).toEqual(ids);
  expect((await claimExecutions(executor.database, { ...claim, leaseToken: randomUUID() })).claimed).toEqual([]);
});

it('outcomes go over a fresh connection when those of the pool are gone for good', async () => {
  const id = await executor.plant();
  const { ended } = await executor.run([id], [workflowNamed('work', () => proxy.cut())], {
    ...options(),
    databaseOptions: { url: executor.url },
  });
  expect(ended).toMatchObject([{ executionId: id, state: 'completed' }]);
});

it('outcomes go over a fresh connection when that of the pool has fallen silent', async () => {
  const id = await executor.plant();
  const { ended } = await executor.run([id], [workflowNamed('work', () => proxy.silence())], {
    ...options(),
    databaseOptions: { url: executor.url },
    timings: { pooledAttemptMs: 100 },
  });
  expect(ended).toMatchObject([{ executionId: id, state: 'completed' }]);
  expect(executor.lines).toContainEqual(
    expect.objectContaining({ error: expect.objectContaining({ message: 'the database did not answer within 100 ms' }) }),
  );
  proxy.cut();
});

it('an outcome that somebody’s lock held up on the pooled connection is recorded once', async () => {
  const manifestId = await executor.plantManifest(randomUUID());
  const id = await executor.plant({ manifest_id: manifestId });
  const { ended } = await executor.database
    .transaction(async (db) => {
      await db.query(sql`select from waybill.manifest where id = ${manifestId} for no key update`);
      const running = executor.run([id], [workflowNamed('work')], { timings: { pooledAttemptMs: 20 } });
      const isGivenUp = () => executor.lines.some(({ message }) => String(message).startsWith('the connection was lost'));
      await expect.poll(isGivenUp).toBe(true);
      return { running };
    })
    .then(({ running }) => running);
  expect(ended).toMatchObject([{ executionId: id, state: 'completed' }]);
  expect(await manifestOf(manifestId)).toMatchObject({ success_count: 1 });
  expect(refusals()).toEqual([]);
});

it('a database that stays away leaves the run to its lease, and the invocation still answers', async () => {
  const id = await executor.plant();
  const { ended } = await executor.run([id], [workflowNamed('work', () => proxy.cut())], options());
  expect(ended).toEqual([]);
  expect(await executor.row(id)).toMatchObject({ state: 'in_progress', lease_expires_at: expect.any(Date) });
  expect(executor.lines.at(-1)).toMatchObject({ level: 'error', executionIds: [String(id)] });
});

it('a run that recovery has ended under our token is not taken for our own', async () => {
  const id = await executor.plant();
  const work = workflowNamed('work', () =>
    executor.database.query(sql`
      update waybill.execution set state = 'failed', failure_code = 'lease_lost', finished_at = waybill.now(), lease_expires_at = null where id = ${id}`),
  );
  const { ended } = await executor.run([id], [work], options());
  expect(ended).toEqual([]);
  expect(refusals()).toMatchObject([{ executionIds: [String(id)] }]);
  expect(executor.doorbell.dispatcherPokes).toBe(0);
});

it('an outcome that Postgres refuses becomes a failure and does not take the others of its set along', async () => {
  const ids = [await executor.plant(), await executor.plant(), await executor.plant()] as [ExecutionId, ExecutionId, ExecutionId];
  const leaseToken = randomUUID();
  await claimExecutions(executor.database, { ids, leaseToken, leaseSeconds: 45, requestId: 'r', logStream: 'l' });
  const outcomes = ids.map(
    (executionId, index): Outcome => ({ executionId, leaseToken, state: 'completed', output: index === 1 ? 'a\u0000' : 'fine' }),
  );
  const log = createLogger('test', () => {});
  const recorded = await recordOutcomes(outcomes, {
    database: executor.database,
    databaseOptions: { url: executor.url },
    pooledAttemptMs: 10_000,
    retryMs: [],
    log,
  });
  expect(recorded.map(({ executionId, state, failureCode }) => [executionId, state, failureCode])).toEqual([
    [ids[0], 'completed', null],
    [ids[1], 'failed', 'invalid_output'],
    [ids[2], 'completed', null],
  ]);
});

it('a run that ends early is recorded and announced while a slower one of its batch goes on', async () => {
  const [quick, slow] = [await executor.plant(), await executor.plant({ workflow_name: 'slow' })];
  const isAnnounced = Promise.withResolvers<void>();
  const doorbell = { ...executor.doorbell, pokeDispatcher: async () => isAnnounced.resolve() };
  const wait = workflowNamed('slow', async () => {
    await isAnnounced.promise;
    return (await executor.row(quick)).state;
  });
  await executor.run([quick, slow], [workflowNamed('work'), wait], { doorbell });
  expect(await executor.row(slow)).toMatchObject({ state: 'completed', output: 'completed' });
});

it('a poke that fails does not make an invocation of recorded runs fail', async () => {
  const id = await executor.plant();
  const doorbell = { ...executor.doorbell, pokeDispatcher: () => Promise.reject(new Error('throttled')) };
  const { ended } = await executor.run([id], [workflowNamed('work')], { doorbell });
  expect(ended).toMatchObject([{ state: 'completed' }]);
});
