import { setTimeout as takeMs } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Database, openDatabase } from '../../shared/db/database.ts';
import { sql } from '../../shared/db/sql.ts';
import type { ExecutionId } from '../../shared/model/ids.ts';
import type { WorkflowContext } from '../../shared/model/workflow.ts';
import { useExecutor } from '../executor/use-executor.ts';
import { workflowNamed } from '../support/engine.ts';
import { type SwallowingProxy, startSwallowingProxy } from '../support/swallowing-proxy.ts';

const executor = useExecutor();
let proxy: SwallowingProxy;
let proxied: Database;
let done: string[] = [];
const workQueueUrl = 'http://queue/default';

beforeEach(async () => {
  done = [];
  executor.doorbell.bells.length = 0;
  proxy = await startSwallowingProxy(executor.url);
  proxied = openDatabase({ url: proxy.url, maxConnections: 2 });
});
afterEach(async () => {
  await proxied.close();
  await proxy.close();
});

const run = (id: ExecutionId, behaviour: (ctx: WorkflowContext) => unknown, remainingMs = 60_000) =>
  executor.run([id], [workflowNamed('work', behaviour)], {
    database: proxied,
    databaseOptions: { url: proxy.url },
    workQueueUrl,
    remainingMs,
    timings: { recordingRetryMs: [20, 20, 20] },
  });
const steps = (id: ExecutionId) =>
  executor.database.query<{ name: string; state: string }>(sql`
    select name, state from waybill.execution_step where run_id = ${id} order by sequence`);
const note = (ctx: WorkflowContext, name: string, act: () => unknown = () => {}) =>
  ctx.step(name, async () => {
    done.push(name);
    await act();
    return name;
  });

describe('a database that goes away', () => {
  it('while a step runs, and comes back before its end is recorded, costs nothing', async () => {
    const id = await executor.plant();
    const { ended } = await run(id, async (ctx) => {
      await note(ctx, 'first', () => {
        proxy.cut();
        setTimeout(() => proxy.restore(), 30);
      });
      return note(ctx, 'second');
    });
    expect(ended).toMatchObject([{ state: 'completed' }]);
    expect(done).toEqual(['first', 'second']);
    expect(await steps(id)).toMatchObject([{ state: 'completed' }, { state: 'completed' }]);
  });

  it('for too long fails the attempt, and the step is begun again by the next', async () => {
    const id = await executor.plant({ max_attempts: 3 });
    const caught: unknown[] = [];
    const { ended } = await run(id, async (ctx) => {
      await note(ctx, 'first', () => proxy.cut()).catch((error) => {
        caught.push(error);
        proxy.restore();
        throw error;
      });
    });
    expect(caught).toMatchObject([{ code: 'step_not_recorded', message: expect.stringMatching(/^step 'first' could not be recorded: /) }]);
    expect(ended).toMatchObject([{ state: 'failed', failureCode: 'thrown', next: 'retry' }]);
    expect(await steps(id)).toMatchObject([{ name: 'first', state: 'failed' }]);
  });
});

describe('a commit whose acknowledgement is lost', () => {
  it.each([
    ['its beginning', 1],
    ['its end', 2],
    ['both', 3],
  ])('of a nested run, %s, begins and ends it once', async (_, which) => {
    const id = await executor.plant();
    const nested = workflowNamed('nested', async (ctx) => {
      await note(ctx, 'inner');
      if (which & 2) proxy.swallowCommits(1);
    });
    const { ended } = await run(id, async (ctx) => {
      if (which & 1) proxy.swallowCommits(1);
      await ctx.run('import', nested, {});
      return note(ctx, 'after');
    });
    expect(proxy.swallowedCount).toBe(which === 3 ? 2 : 1);
    expect(ended).toMatchObject([{ state: 'completed' }]);
    expect(done).toEqual(['inner', 'after']);
    expect(await executor.database.query(sql`select state from waybill.execution where parent_id = ${id}`)).toEqual([
      { state: 'completed' },
    ]);
  });

  it('of a run that is handed back leaves it pending, and it is rung at once', async () => {
    const id = await executor.plant();
    const long = async (ctx: WorkflowContext) => {
      for (const name of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']) await note(ctx, name, () => takeMs(100));
    };
    proxy.swallowCommits(1);
    expect((await run(id, long, 900)).ended).toEqual([]);
    expect(proxy.swallowedCount).toBe(1);
    expect(await executor.row(id)).toMatchObject({ state: 'pending', lease_token: null });
    expect(executor.doorbell.bells).toEqual([{ executionId: id, queueUrl: workQueueUrl }]);
    expect((await run(id, long)).ended).toMatchObject([{ state: 'completed' }]);
    expect(done).toEqual(['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']);
  });

  it('of a run that falls asleep leaves it asleep, and everybody is told', async () => {
    const [entry] = await executor.database.query<{ id: number; group_id: number }>(sql`
      insert into waybill.work_queue (group_id, origin, initiator_type, status, dispatched_at)
      select id, 'manual', 'user', 'dispatched', waybill.now() from waybill.manifest_group limit 1 returning id, group_id`);
    const id = await executor.plant({ work_queue_id: entry!.id });
    proxy.swallowCommits(1);
    await run(id, (ctx) => ctx.sleep('hour', { hours: 1 }));
    expect(proxy.swallowedCount).toBe(1);
    expect(await executor.row(id)).toMatchObject({ state: 'waiting' });
    expect(await executor.database.query(sql`select status from waybill.work_queue where id = ${entry!.id}`)).toEqual([
      { status: 'queued' },
    ]);
    expect(executor.doorbell.managerPokes).toHaveLength(1);
  });
});
