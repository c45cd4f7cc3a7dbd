import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { sql } from '../../shared/db/sql.ts';
import { claimExecutions } from '../../shared/executor/claim-executions.ts';
import { keepLeases, type LeaseKeeper } from '../../shared/executor/keep-leases.ts';
import { defaultTimings } from '../../shared/executor/timings.ts';
import type { ExecutionId } from '../../shared/model/ids.ts';
import type { WorkflowContext } from '../../shared/model/workflow.ts';
import { workflowNamed } from '../support/engine.ts';
import { startSwallowingProxy } from '../support/swallowing-proxy.ts';
import { waitFor } from '../support/wait-for.ts';
import { useExecutor } from './use-executor.ts';

const executor = useExecutor();
/** Every thread that this process has started, the present one last. */
const threads: Worker[] = [];
process.on('worker', (thread) => threads.push(thread));
/** Like the real ones, but fast. */
const timings = { leaseSeconds: 1, firstRenewalMs: 100, renewalMs: 200, renewalRetryMs: 50 };

const hasLease = async (id: ExecutionId) => {
  const [row] = await executor.database.query<{ isLeased: boolean }>(
    sql`select lease_expires_at > waybill.now() as "isLeased" from waybill.execution where id = ${id}`,
  );
  return row!.isLeased;
};
const untilAborted = ({ signal }: WorkflowContext) => (signal.aborted ? Promise.resolve() : once(signal, 'abort'));

function blockEventLoop(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
}

it('a workflow that blocks the event loop from its first line, for longer than its lease, keeps the lease', async () => {
  const id = await executor.plant();
  const work = workflowNamed('work', async () => {
    blockEventLoop(2_500);
    return { isLeased: await hasLease(id) };
  });
  await executor.run([id], [work], { timings });
  expect(await executor.row(id)).toMatchObject({ state: 'completed', output: { isLeased: true } });
});

it('a run that outlives its timeout by the overtime is not renewed any more', async () => {
  const id = await executor.plant({ timeout_seconds: 1 });
  const work = workflowNamed('work', async () => {
    blockEventLoop(3_000);
    return { isLeased: await hasLease(id) };
  });
  await executor.run([id], [work], { timings: { ...timings, overtimeMs: 200 } });
  expect(await executor.row(id)).toMatchObject({ state: 'completed', output: { isLeased: false } });
});

it('a run that is cancelled hears it with the next renewal and ends cancelled', async () => {
  const id = await executor.plant({ max_attempts: 3 });
  const reasons: unknown[] = [];
  const work = workflowNamed('work', async (context) => {
    await executor.database.query(sql`update waybill.execution set cancel_requested_at = waybill.now() where id = ${id}`);
    await untilAborted(context);
    reasons.push(context.signal.reason.code);
    throw new Error('stopped');
  });
  const { ended } = await executor.run([id], [work], { timings });
  expect(reasons).toEqual(['cancelled']);
  expect(ended).toMatchObject([{ executionId: id, state: 'cancelled', next: null }]);
  expect(await executor.row(id)).toMatchObject({ state: 'cancelled', failure_code: 'cancelled' });
});

it('an execution that is claimed with its cancellation requested ends cancelled without running', async () => {
  const id = await executor.plant({ cancel_requested_at: new Date() });
  const run = vi.fn();
  await executor.run([id], [workflowNamed('work', run)]);
  expect(run).not.toHaveBeenCalled();
  expect(await executor.row(id)).toMatchObject({ state: 'cancelled' });
});

it('a run that somebody else has ended is aborted, and nothing is recorded for it', async () => {
  const id = await executor.plant();
  const work = workflowNamed('work', async (context) => {
    await executor.database.query(sql`
      update waybill.execution set state = 'failed', failure_code = 'lease_lost', finished_at = waybill.now(), lease_expires_at = null where id = ${id}`);
    await untilAborted(context);
    context.signal.throwIfAborted();
  });
  const { ended } = await executor.run([id], [work], { timings });
  expect(ended).toEqual([]);
  expect(await executor.row(id)).toMatchObject({ state: 'failed', failure_code: 'lease_lost', failure_message: null });
  expect(executor.lines).toMatchObject([
    { level: 'warn', message: expect.stringContaining('the lease was lost'), executionId: String(id) },
  ]);
});

it('a run whose lease could not be renewed before it ran out is aborted', async () => {
  const proxy = await startSwallowingProxy(executor.url);
  proxy.cut();
  const id = await executor.plant();
  let code: unknown;
  const work = workflowNamed('work', async (context) => {
    await untilAborted(context);
    code = context.signal.reason.code;
    context.signal.throwIfAborted();
  });
  await executor.run([id], [work], { timings, databaseOptions: { url: proxy.url } });
  await proxy.close();
  expect(code).toBe('lease_lost');
  expect(await executor.row(id)).toMatchObject({ state: 'in_progress' });
  expect(executor.lines.some(({ message }) => message === 'leases could not be renewed, trying again')).toBe(true);
});

it('renewals go on when the database was away for less than the lease', async () => {
  const proxy = await startSwallowingProxy(executor.url);
  proxy.cut();
  const id = await executor.plant();
  const work = workflowNamed('work', async () => {
    await waitFor('a renewal that failed', () => executor.lines.length > 0, { seconds: 5 });
    proxy.restore();
    await untilRenewed(id, 1);
    return 'kept';
  });
  await executor.run([id], [work], { timings: { ...timings, leaseSeconds: 5 }, databaseOptions: { url: proxy.url } });
  await proxy.close();
  expect(await executor.row(id)).toMatchObject({ state: 'completed', output: 'kept' });
});

it('a renewal thread that died is replaced while a run needs it', async () => {
  const id = await executor.plant();
  const work = workflowNamed('work', async () => {
    await threads.at(-1)!.terminate();
    const threadCount = threads.length;
    await waitFor('another thread', () => threads.length > threadCount, { seconds: 10 });
    await untilRenewed(id, 1);
    return 'kept';
  });
  await executor.run([id], [work], { timings: { ...timings, leaseSeconds: 10 } });
  expect(await executor.row(id)).toMatchObject({ state: 'completed', output: 'kept' });
});

it('what was planned for production: a lease of 45 s, renewed after 10 s and then every 15 s', () => {
  expect(defaultTimings).toMatchObject({ leaseSeconds: 45, firstRenewalMs: 10_000, renewalMs: 15_000, overtimeMs: 30_000 });
});

/** Leases that are held by nobody but the test. */
let keepers: LeaseKeeper[] = [];
beforeEach(() => {
  keepers = [];
});
afterEach(() => {
  for (const keeper of keepers) keeper.stop();
});

async function keep(count: number): Promise<{ ids: ExecutionId[]; keeper: LeaseKeeper; lost: ExecutionId[] }> {
  const ids = await Promise.all(Array.from({ length: count }, () => executor.plant()));
  const leaseToken = randomUUID();
  await claimExecutions(executor.database, { ids, leaseToken, leaseSeconds: 60, requestId: leaseToken, logStream: 'test' });
  const lost: ExecutionId[] = [];
  const keeper = keepLeases({
    databaseUrl: executor.url,
    leaseToken,
    leases: ids.map((id) => ({ id, renewUntilAt: new Date('2100-01-01') })),
    timings: { ...defaultTimings, leaseSeconds: 60, firstRenewalMs: 50, renewalMs: 50 },
    onLost: (id) => lost.push(id),
    onCancelRequested: () => {},
    log: { debug() {}, info() {}, warn() {}, error() {} },
  });
  keepers.push(keeper);
  return { ids, keeper, lost };
}
const expiry = async (id: ExecutionId) => ((await executor.row(id)).lease_expires_at as Date).getTime();
async function untilRenewed(id: ExecutionId, times: number): Promise<void> {
  for (let seen = 0; seen < times; seen++) {
    const before = await expiry(id);
    await waitFor('a renewal', async () => (await expiry(id)) > before, { seconds: 10 });
  }
}

it('a run that was released is not renewed while the others of its batch are', async () => {
  const { ids, keeper, lost } = await keep(2);
  const [released, held] = ids as [ExecutionId, ExecutionId];
  await untilRenewed(held, 1);
  keeper.release(released);
  // One statement may have been under way.
  await untilRenewed(held, 1);
  const before = await expiry(released);
  await untilRenewed(held, 3);
  expect(await expiry(released)).toBe(before);
  expect(lost).toEqual([]);
});

const untilConnections = (expected: number) =>
  waitFor(
    `${expected} connections of the renewal thread`,
    async () => {
      const [row] = await executor.database.query<{ count: number }>(sql`
        select count(*) from pg_stat_activity
         where datname = current_database() and query like '%progress_done = coalesce%' and query not like '%pg_stat_activity%'`);
      return row!.count === expected;
    },
    { seconds: 20 },
  );

it('nothing is renewed any more once an invocation has stopped, and its connection is closed', async () => {
  const stopped = await keep(2);
  const other = await keep(1);
  await untilRenewed(stopped.ids[0]!, 1);
  stopped.keeper.stop();
  await untilConnections(1);
  const before = await Promise.all(stopped.ids.map(expiry));
  await untilRenewed(other.ids[0]!, 3);
  expect(await Promise.all(stopped.ids.map(expiry))).toEqual(before);
  other.keeper.stop();
  await untilConnections(0);
});

it('progress that a run reports is written with its next renewal, and a figure that cannot be stored costs no lease', async () => {
  const { ids, keeper, lost } = await keep(2);
  const [sound, odd] = ids as [ExecutionId, ExecutionId];
  keeper.reportProgress(sound, { done: 3, total: 10, message: 'half\u0000way' });
  keeper.reportProgress(odd, { done: Number.NaN, total: Number.POSITIVE_INFINITY });
  await waitFor('the progress', async () => (await executor.row(sound)).progress_done === 3, { seconds: 10 });
  expect(await executor.row(sound)).toMatchObject({ progress_done: 3, progress_total: 10, progress_message: 'half\uFFFDway' });
  await untilRenewed(odd, 1);
  expect(await executor.row(odd)).toMatchObject({ progress_done: null, progress_total: null });
  expect(lost).toEqual([]);
});
