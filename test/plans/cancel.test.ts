import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { sql } from '../../shared/db/sql.ts';
import { claimExecutions } from '../../shared/executor/claim-executions.ts';
import { cancelExecution } from '../../shared/operations/cancel-execution.ts';
import { changeGroup } from '../../shared/operations/change-group.ts';
import { endRuns } from '../../shared/transitions/end-runs.ts';
import { following } from '../engine/use-world.ts';
import { fail, usePlans } from './use-plans.ts';

const world = usePlans();
const cancelPlan = async () => cancelExecution(world.context, String((await world.latest()).id));
const stepNamed = async (name: string) => (await world.steps()).findLast(({ step_name }) => step_name === name)!;
const cancelStep = async (name: string) => cancelExecution(world.context, String((await stepNamed(name)).id));
const queuedEntries = () => world.rows(sql`select id from waybill.work_queue where status = 'queued'`);

/** Takes steps over like an executor that then says nothing until it is told to. */
async function take(...names: string[]): Promise<(state?: 'completed' | 'failed') => ReturnType<typeof endRuns>> {
  const leaseToken = randomUUID();
  const ids = (await world.steps()).filter(({ step_name }) => names.includes(step_name)).map(({ id }) => id as never);
  await claimExecutions(world.database, { ids, leaseToken, leaseSeconds: 45, requestId: 'r', logStream: 'l' });
  const failure = { code: 'thrown', message: 'stopped' };
  return (state = 'failed') =>
    world.database.transaction((db) =>
      endRuns(
        db,
        ids.map((executionId) => ({ executionId, leaseToken, state, ...(state === 'failed' && { failure }) })),
      ),
    );
}

describe('cancelling a plan', () => {
  beforeEach(() => world.plan('plan', [['a', { name: 'b', maxAttempts: 3 }], ['c']]));

  it('in which nothing runs cancels it and all of its steps now, with their entries', async () => {
    await changeGroup(world.context, 'plan', { maxActiveJobs: 1 });
    await world.begin();
    expect(await world.states()).toEqual({ a: 'pending', b: 'waiting', c: 'waiting' });
    expect(await cancelPlan()).toEqual({ outcome: 'cancelled' });
    expect(await world.states()).toEqual({ a: 'cancelled', b: 'cancelled', c: 'cancelled' });
    expect(await world.latest()).toMatchObject({ state: 'cancelled', failure_code: null });
    expect(await queuedEntries()).toEqual([]);
    expect(await world.deliver()).toEqual([]);
    await expect(cancelPlan()).rejects.toMatchObject({ code: 'already_finished' });
  });

  it('asks what runs to stop, and the plan ends cancelled with the last of it', async () => {
    await world.begin();
    const stop = await take('a', 'b');
    expect(await cancelPlan()).toEqual({ outcome: 'requested' });
    expect(await world.states()).toEqual({ a: 'in_progress', b: 'in_progress', c: 'cancelled' });
    expect(await cancelPlan()).toEqual({ outcome: 'requested' });
    expect(
      await world.rows(sql`select from waybill.execution where cancel_requested_at is not null and state = 'in_progress'`),
    ).toHaveLength(3);
    expect(await stop()).toMatchObject([
      { state: 'cancelled' },
      { state: 'cancelled' },
      { state: 'cancelled', executionId: (await world.latest()).id },
    ]);
    expect(await world.states()).toEqual({ a: 'cancelled', b: 'cancelled', c: 'cancelled' });
    expect(await world.latest()).toMatchObject({ state: 'cancelled' });
    expect(await queuedEntries()).toEqual([]);
  });

  it('whose last steps succeed all the same ends it cancelled, never completed', async () => {
    await world.plan('plan', [['a']]);
    await world.begin();
    const stop = await take('a');
    await cancelPlan();
    await stop('completed');
    expect(await world.states()).toEqual({ a: 'completed' });
    expect(await world.latest()).toMatchObject({ state: 'cancelled' });
    expect(await world.manifest('plan')).toMatchObject({ success_count: 0, failed_count: 0 });
  });

  it('ends when the executor of its last step has died', async () => {
    await world.begin();
    await take('a', 'b');
    world.doorbell.bells.length = 0;
    await cancelPlan();
    world.clock.advance(46);
    await world.manage();
    expect(await world.latest()).toMatchObject({ state: 'cancelled' });
  });

  it('wakes a sleeping step and one that waits for its retry only to cancel them', async () => {
    world.acts.a = (ctx) => ctx.sleep('nap', 600);
    world.acts.b = fail;
    await world.begin();
    await world.deliver();
    expect(await queuedEntries()).toHaveLength(2);
    expect(await cancelPlan()).toEqual({ outcome: 'cancelled' });
    expect((await world.steps()).map(({ step_name, attempt, state }) => [step_name, attempt, state])).toEqual([
      ['a', 1, 'cancelled'],
      ['b', 1, 'failed'],
      ['b', 2, 'cancelled'],
      ['c', 1, 'cancelled'],
    ]);
    expect(await queuedEntries()).toEqual([]);
  });

  it('consumes what it ran for, and its dependents do not run', async () => {
    await world.sync([{ externalId: 'after', schedule: following('plan') }]);
    await world.begin();
    await cancelPlan();
    await world.drain();
    expect(await world.runs('after')).toEqual([]);
    expect(await world.manifest('plan')).toMatchObject({ success_count: 0, failed_count: 0 });
  });
});

describe('cancelling a step', () => {
  it('counts as a failure of the step, which ends the plan once its siblings are over', async () => {
    await world.plan('plan', [['a', 'b'], ['c']]);
    await world.begin();
    expect(await cancelStep('a')).toEqual({ outcome: 'cancelled' });
    expect(await world.latest()).toMatchObject({ state: 'in_progress' });
    await world.drain();
    expect(await world.states()).toEqual({ a: 'cancelled', b: 'completed', c: 'skipped' });
    expect(await world.latest()).toMatchObject({
      state: 'failed',
      failure_code: 'step_failed',
      failure_step: 'a',
      failure_message: "step 'a' was cancelled",
    });
  });

  it('is tolerated where a failure would be, also as the last that the plan waits for', async () => {
    await world.plan('plan', [['a'], [{ name: 'b', continueOnFailure: true }]]);
    await world.sync([{ externalId: 'after', schedule: following('plan') }]);
    await world.begin();
    await world.deliver();
    await world.dispatch();
    await cancelStep('b');
    expect(await world.latest()).toMatchObject({ state: 'completed_with_warnings' });
    world.behaviour = () => 'done';
    await world.drain();
    expect(await world.runs('after')).toMatchObject([{ state: 'completed' }]);
  });

  it('that runs asks it to stop; a retry does not follow', async () => {
    await world.plan('plan', [[{ name: 'a', maxAttempts: 3 }]]);
    await world.begin();
    world.acts.a = async () => {
      expect(await cancelStep('a')).toEqual({ outcome: 'requested' });
      throw new Error('stopped');
    };
    await world.deliver();
    expect(await world.steps()).toMatchObject([{ state: 'cancelled' }]);
    expect(await world.latest()).toMatchObject({ state: 'failed', failure_step: 'a' });
  });

  it('of a later group lets the groups before it run, and does not begin its own', async () => {
    await world.plan('plan', [['a'], ['b', 'c'], ['d']]);
    await world.begin();
    expect(await cancelStep('c')).toEqual({ outcome: 'cancelled' });
    expect(await world.latest()).toMatchObject({ state: 'in_progress' });
    await world.drain();
    expect(world.began).toEqual(['a']);
    expect(await world.states()).toEqual({ a: 'completed', b: 'skipped', c: 'cancelled', d: 'skipped' });
    expect(await world.latest()).toMatchObject({ state: 'failed', failure_step: 'c' });
  });
});

describe('a plan that runs longer than its timeout', () => {
  beforeEach(() => world.plan('plan', [['a', 'b'], ['c']], { timeout_seconds: 100 }));

  it('is stopped by the manager and ends failed, whose next wake is its deadline', async () => {
    await changeGroup(world.context, 'plan', { maxActiveJobs: 1 });
    await world.begin();
    world.doorbell.managerPokes.length = 0;
    world.clock.advance(70);
    await world.manage();
    expect(world.doorbell.managerPokes).toMatchObject([{ delaySeconds: 30 }]);
    world.clock.advance(29);
    await world.manage();
    expect(await world.latest()).toMatchObject({ state: 'in_progress' });
    world.clock.advance(1);
    await world.manage();
    expect(await world.states()).toEqual({ a: 'cancelled', b: 'cancelled', c: 'cancelled' });
    const message = 'the plan ran longer than its timeout of 100 seconds';
    expect(await world.latest()).toMatchObject({ state: 'failed', failure_code: 'timeout', failure_message: message, failure_step: null });
    expect(await world.manifest('plan')).toMatchObject({ failed_count: 1 });
    expect(await queuedEntries()).toEqual([]);
  });

  it('waits for what runs to stop, and is not asked twice', async () => {
    await world.begin();
    const stop = await take('a', 'b');
    world.clock.advance(100);
    await world.rows(
      sql`update waybill.execution set lease_expires_at = waybill.now() + interval '45 seconds' where lease_expires_at is not null`,
    );
    world.doorbell.managerPokes.length = 0;
    await world.manage();
    await world.manage();
    expect(world.doorbell.managerPokes).toHaveLength(1);
    expect(world.doorbell.managerPokes[0]!.delaySeconds).toBeGreaterThan(40);
    expect(await world.latest()).toMatchObject({ state: 'in_progress', failure_code: 'timeout' });
    expect(await cancelPlan()).toEqual({ outcome: 'requested' });
    await stop('completed');
    expect(await world.latest()).toMatchObject({ state: 'failed', failure_code: 'timeout' });
  });

  it('is left alone when it was cancelled before', async () => {
    await world.begin();
    const stop = await take('a', 'b');
    await cancelPlan();
    world.clock.advance(100);
    await world.rows(
      sql`update waybill.execution set lease_expires_at = waybill.now() + interval '45 seconds' where lease_expires_at is not null`,
    );
    await world.manage();
    await stop();
    expect(await world.latest()).toMatchObject({ state: 'cancelled', failure_code: null });
  });
});
