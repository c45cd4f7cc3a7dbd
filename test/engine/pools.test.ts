import { describe, expect, it } from 'vitest';
import { sql } from '../../shared/db/sql.ts';
import { dispatcherCycle } from '../../shared/dispatcher/cycle.ts';
import { managerCycle } from '../../shared/manager/cycle.ts';
import { rerun } from '../../shared/operations/rerun.ts';
import { retryDeadLetter } from '../../shared/operations/resolve-dead-letter.ts';
import { runWorkflow } from '../../shared/operations/run-workflow.ts';
import { trigger } from '../../shared/operations/trigger.ts';
import type { PoolSettings } from '../../shared/settings.ts';
import { usePlans } from '../plans/use-plans.ts';
import { fail, none } from './use-world.ts';

const world = usePlans();
const job = 'job';
const pool = (name: string): PoolSettings => ({ queueUrl: `http://queue/${name}`, concurrency: 1_000, batchSize: 1 });
type Pools = Record<string, PoolSettings>;
const before: Pools = { default: pool('default'), heavy: pool('heavy') };
const after: Pools = { default: pool('default') };
const manage = (pools: Pools) => managerCycle({ database: world.database, doorbell: world.doorbell, pools });
const dispatch = (pools: Pools) => dispatcherCycle({ database: world.database, doorbell: world.doorbell, pools });
const moveTo = (name: string) => world.rows(sql`update waybill.workflow set pool = ${name}`);
const executions = () => world.rows<{ id: number; pool: string }>(sql`select id, pool from waybill.execution order by id`);
const queuedPools = () => world.rows<{ pool: string | null }>(sql`select pool from waybill.work_queue where status = 'queued' order by id`);

/** One run, admitted to the pool that its workflow names, before a deployment takes that pool away. */
async function admitToHeavy(manifest: { pool?: string; maxAttempts?: number } = {}): Promise<void> {
  await world.sync([{ externalId: job, schedule: none, ...manifest }]);
  await moveTo('heavy');
  await trigger(world.context, { externalId: job });
  await dispatch(before);
}

async function failInHeavy(manifest: Parameters<typeof admitToHeavy>[0] = {}): Promise<void> {
  await admitToHeavy(manifest);
  world.behaviour = fail;
  await world.deliver();
}

describe('work whose workflow moves to another pool', () => {
  it('is rung there when it is rung again, and counts there', async () => {
    await admitToHeavy();
    world.doorbell.bells.length = 0;
    await moveTo('default');
    world.clock.advance(31);
    await manage(after);
    expect(world.doorbell.bells).toMatchObject([{ queueUrl: 'http://queue/default' }]);
    expect(await world.rows(sql`select pool, ring_count from waybill.execution`)).toEqual([{ pool: 'default', ring_count: 2 }]);
  });

  it('takes its retry along', async () => {
    await failInHeavy();
    await moveTo('default');
    world.clock.advance(60);
    expect(await dispatch(after)).toMatchObject({ admittedCount: 1, rungCount: 1 });
  });

  it('takes the retry of its dead letter along', async () => {
    await failInHeavy({ maxAttempts: 1 });
    await moveTo('default');
    await retryDeadLetter(world.context, (await world.awaiting(job)).id);
    expect(await dispatch(after)).toMatchObject({ admittedCount: 1, rungCount: 1 });
  });

  it('takes an ad-hoc run, its retry and its rerun along', async () => {
    await world.sync([{ externalId: job, schedule: none }]);
    await moveTo('heavy');
    world.behaviour = fail;
    await runWorkflow(world.context, { workflow: 'work', maxAttempts: 2 });
    await dispatch(before);
    await world.deliver();
    await rerun(world.context, String((await executions())[0]!.id));
    await runWorkflow(world.context, { workflow: 'work' });
    await moveTo('default');
    world.clock.advance(60);
    expect(await dispatch(after)).toMatchObject({ admittedCount: 3, rungCount: 3 });
  });

  it('takes the retry of a step along', async () => {
    await world.sync([{ externalId: job, schedule: none }]);
    await moveTo('heavy');
    await world.plan('plan', [[{ name: 'a', maxAttempts: 2 }]]);
    await trigger(world.context, { externalId: 'plan' });
    await dispatch(before);
    world.behaviour = fail;
    await world.deliver();
    await moveTo('default');
    world.clock.advance(60);
    expect(await dispatch(after)).toMatchObject({ admittedCount: 1, rungCount: 1 });
  });
});

describe('a pool that was stated', () => {
  it('by a manifest, is kept by a retry, whatever its workflow says', async () => {
    await failInHeavy({ pool: 'default' });
    expect(await queuedPools()).toEqual([{ pool: 'default' }]);
  });

  it('by a manifest, is replaced in a retry by what the manifest states by then', async () => {
    await admitToHeavy({ pool: 'heavy' });
    await world.rows(sql`update waybill.manifest set pool = 'other'`);
    world.behaviour = fail;
    await world.deliver();
    expect(await queuedPools()).toEqual([{ pool: 'other' }]);
  });

  it('by a step, is kept by its retry', async () => {
    await world.sync([{ externalId: job, schedule: none }]);
    await world.plan('plan', [[{ name: 'a', maxAttempts: 2, pool: 'heavy' }]]);
    await trigger(world.context, { externalId: 'plan' });
    await dispatch(before);
    world.behaviour = fail;
    await world.deliver();
    expect(await queuedPools()).toEqual([{ pool: 'heavy' }]);
  });
});

describe('a pool that the stack no longer has', () => {
  it('ends what waits for it as never started, after ten rings that nobody could hear', async () => {
    await admitToHeavy();
    for (let rings = 1; rings < 10; rings++) {
      world.clock.advance(301);
      expect(await manage(after)).toMatchObject({ rungCount: 0 });
    }
    expect(await world.runs(job)).toMatchObject([{ state: 'pending', ring_count: 10 }]);
    world.clock.advance(301);
    await manage(after);
    expect(await world.awaiting(job)).toMatchObject({ reason: 'never_started' });
    expect(await world.runs(job)).toMatchObject([{ state: 'failed', failure_message: expect.stringContaining("pool 'heavy'") }]);
  });

  it('does not keep others from being rung, however much waits for it', async () => {
    const many = Array.from({ length: 500 }, (_, index) => ({ externalId: `job-${index}`, pool: 'heavy', schedule: none }));
    await world.sync([...many, { externalId: job, schedule: none }]);
    await world.rows(sql`
      insert into waybill.work_queue (workflow_name, pool, manifest_id, group_id, lane, origin, initiator_type)
      select workflow_name, pool, id, group_id, 'fresh', 'manual', 'user' from waybill.manifest where pool is not null`);
    await dispatch(before);
    world.clock.advance(1);
    await trigger(world.context, { externalId: job });
    await dispatch(before);
    world.doorbell.bells.length = 0;
    world.clock.advance(31);
    await manage(after);
    world.clock.advance(1);
    await manage(after);
    const [run] = await world.runs(job);
    expect(world.doorbell.bells).toEqual([{ executionId: run!.id, queueUrl: 'http://queue/default' }]);
  });

  it('is rung again when a deployment brings it back', async () => {
    await admitToHeavy();
    world.clock.advance(31);
    await manage(after);
    world.doorbell.bells.length = 0;
    world.clock.advance(61);
    await manage(before);
    expect(world.doorbell.bells).toMatchObject([{ queueUrl: 'http://queue/heavy' }]);
  });
});
