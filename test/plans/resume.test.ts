import { describe, expect, it } from 'vitest';
import { sql } from '../../shared/db/sql.ts';
import { cancelExecution } from '../../shared/operations/cancel-execution.ts';
import { rerun } from '../../shared/operations/rerun.ts';
import { acknowledgeDeadLetter, retryDeadLetter } from '../../shared/operations/resolve-dead-letter.ts';
import { resume } from '../../shared/operations/resume.ts';
import { trigger } from '../../shared/operations/trigger.ts';
import { dependent, fail, usePlans } from './use-plans.ts';

const world = usePlans();
const resumeLatest = async () => resume(world.context, String((await world.latest()).id));

/** A plan whose third step fails, with another behind it. */
async function failHalfWay(columns: Record<string, unknown> = {}): Promise<void> {
  await world.plan('plan', [['a'], ['b', { name: 'c', maxAttempts: 2 }], ['d']], { backoff_initial_seconds: 1, ...columns });
  world.acts.c = fail;
  await world.begin();
  await world.drain();
  expect(await world.latest()).toMatchObject({ state: 'failed', failure_step: 'c' });
  world.began.length = 0;
  delete world.acts.c;
}

describe('resuming a plan', () => {
  it('is a new execution of the same run and occurrence, in which what succeeded is taken over and not run', async () => {
    await failHalfWay();
    const [first] = await world.plans();
    const before = await world.steps();
    await resumeLatest();
    world.clock.advance(60);
    await world.drain();
    expect(world.began).toEqual(['c', 'd']);
    const [, second] = await world.plans();
    expect(second).toMatchObject({
      state: 'completed',
      attempt: 2,
      run_id: first!.id,
      occurrence_at: first!.occurrence_at,
      origin: 'manual',
    });
    const steps = await world.steps();
    expect(steps.map(({ step_name, state, attempt }) => [step_name, state, attempt])).toEqual([
      ['a', 'completed', 1],
      ['b', 'completed', 1],
      ['c', 'completed', 3],
      ['d', 'completed', 1],
    ]);
    for (const [index, { work_queue_id, started_at, finished_at, output }] of steps.slice(0, 2).entries()) {
      expect(work_queue_id).toBeNull();
      expect({ started_at, finished_at, output }).toEqual({
        started_at: before[index]!.started_at,
        finished_at: before[index]!.finished_at,
        output: before[index]!.output,
      });
    }
    expect(await world.manifest('plan')).toMatchObject({ success_count: 1, failed_count: 0 });
  });

  it('lets the failed step go on from what its own run has recorded, with as many attempts as at first', async () => {
    await world.plan('plan', [[{ name: 'a', maxAttempts: 2 }]], { backoff_initial_seconds: 1 });
    const done: string[] = [];
    let failures = 3;
    world.acts.a = async (ctx) => {
      await ctx.step('once', () => done.push('once'));
      if (failures-- > 0) throw new Error('not yet');
      return ctx.idempotencyKey;
    };
    await world.begin();
    await world.drain();
    const [first] = await world.steps();
    await resumeLatest();
    await world.drain();
    expect(await world.steps()).toMatchObject([
      { attempt: 3, state: 'failed', run_id: first!.run_id, max_attempts: 4 },
      { attempt: 4, state: 'completed', run_id: first!.run_id },
    ]);
    expect(done).toEqual(['once']);
  });

  it('runs what the definition says by now: a changed input begins a new run of the step, and what is new runs too', async () => {
    await failHalfWay();
    await world.plan('plan', [
      ['new', 'a'],
      [
        { name: 'c', input: { step: 'c', mode: 'mended' } },
        { name: 'b', workflow: 'other' },
      ],
      ['d'],
    ]);
    await resumeLatest();
    await world.drain();
    expect(world.began).toEqual(['new', 'c']);
    const c = (await world.steps()).find(({ step_name }) => step_name === 'c')!;
    expect(c).toMatchObject({ attempt: 1, run_id: c.id, input: { step: 'c', mode: 'mended' } });
    expect((await world.steps()).filter(({ step_name }) => step_name === 'b')).toMatchObject([
      { attempt: 1, work_queue_id: expect.any(Number) },
    ]);
  });

  it('that was cancelled goes on with the steps that were', async () => {
    await world.plan('plan', [['a'], ['b'], ['c']]);
    await world.begin();
    await world.deliver();
    await cancelExecution(world.context, String((await world.latest()).id));
    await resumeLatest();
    await world.drain();
    expect(world.began).toEqual(['a', 'b', 'c']);
    expect(await world.plans()).toMatchObject([{ state: 'cancelled' }, { state: 'completed', attempt: 2 }]);
  });

  it('may be done again when it fails again', async () => {
    await failHalfWay({ max_attempts: 9 });
    world.acts.d = fail;
    await resumeLatest();
    await world.drain();
    expect(await world.latest()).toMatchObject({ state: 'failed', failure_step: 'd', attempt: 2 });
    delete world.acts.d;
    await resumeLatest();
    await world.drain();
    expect(world.began).toEqual(['c', 'd', 'd']);
    expect(await world.latest()).toMatchObject({ state: 'completed', attempt: 3 });
  });

  it('goes before what was queued meanwhile', async () => {
    await failHalfWay();
    await trigger(world.context, { externalId: 'plan' });
    await resumeLatest();
    await world.drain();
    expect(world.began).toEqual(['c', 'd', 'a', 'b', 'c', 'd']);
    expect(await world.plans()).toMatchObject([{ attempt: 1 }, { attempt: 2 }, { attempt: 1, state: 'completed' }]);
  });

  it('counts as begun when its first execution was: a delta misses nothing of what came since', async () => {
    await failHalfWay();
    const { started_at } = await world.latest();
    world.clock.advance(3_600);
    await resumeLatest();
    await world.drain();
    expect(await world.rows(sql`select last_success_started_at as at from waybill.manifest where external_id = 'plan'`)).toEqual([
      { at: started_at },
    ]);
  });
});

describe('what cannot be resumed', () => {
  it('is a plan that runs, one that succeeded and one that was resumed', async () => {
    await world.plan('plan', [['a']]);
    await world.begin();
    await expect(resumeLatest()).rejects.toMatchObject({ code: 'still_running' });
    await world.drain();
    await expect(resumeLatest()).rejects.toMatchObject({ code: 'already_completed', message: expect.stringContaining('rerun') });
    await failHalfWay();
    const { id } = await world.latest();
    await resumeLatest();
    await expect(resumeLatest()).rejects.toMatchObject({ code: 'already_queued' });
    await world.drain();
    await expect(resume(world.context, String(id))).rejects.toMatchObject({ code: 'already_resumed' });
  });

  it('is a job, a step, a plan that is gone and what does not exist', async () => {
    await world.sync([{ externalId: 'job', schedule: { type: 'none' } }]);
    await trigger(world.context, { externalId: 'job' });
    await failHalfWay();
    const [job] = await world.runs('job');
    await expect(resume(world.context, String(job!.id))).rejects.toMatchObject({ code: 'not_a_plan' });
    const [step] = await world.steps();
    await expect(resume(world.context, String(step!.id))).rejects.toMatchObject({
      code: 'not_a_plan',
      message: expect.stringContaining('a step of the plan'),
    });
    await expect(resume(world.context, '0')).rejects.toMatchObject({ code: 'execution_not_found' });
    await world.rows(sql`update waybill.manifest set deleted_at = waybill.now() where external_id = 'plan'`);
    await expect(resumeLatest()).rejects.toMatchObject({ code: 'manifest_deleted' });
  });
});

describe('the dead letter of a plan', () => {
  it('is resumed by its retry, and retried by resuming its execution', async () => {
    for (const again of [async () => retryDeadLetter(world.context, (await world.awaiting('plan')).id), resumeLatest]) {
      await world.empty();
      world.behaviour = (context, input) => {
        const { step } = input as { step: string };
        world.began.push(step);
        return (world.acts[step] ?? (() => 'fine'))(context, input);
      };
      await failHalfWay({ max_attempts: 1 });
      expect(await world.awaiting('plan')).toMatchObject({ reason: 'plan_failed' });
      await again();
      expect(await world.rows(sql`select status from waybill.dead_letter`)).toEqual([{ status: 'retried' }]);
      await world.drain();
      expect(world.began).toEqual(['c', 'd']);
      expect(await world.latest()).toMatchObject({ state: 'completed', attempt: 2, origin: 'dead_letter' });
    }
  });

  it('takes no input, since the steps have their own', async () => {
    await failHalfWay({ max_attempts: 1 });
    const { id } = await world.awaiting('plan');
    await expect(retryDeadLetter(world.context, id, { input: {} })).rejects.toMatchObject({ code: 'invalid_request' });
    await expect(trigger(world.context, { externalId: 'plan', input: {} })).rejects.toMatchObject({ code: 'invalid_request' });
    expect(await world.awaiting('plan')).toMatchObject({ id });
  });

  it('that was acknowledged leaves the plan to be resumed all the same', async () => {
    await failHalfWay({ max_attempts: 1 });
    await acknowledgeDeadLetter(world.context, (await world.awaiting('plan')).id);
    await resumeLatest();
    await world.drain();
    expect(await world.latest()).toMatchObject({ state: 'completed' });
  });

  it('of a dependent plan holds it; resumed, it has consumed what it ran for', async () => {
    await world.sync([{ externalId: 'parent', schedule: { type: 'none' } }]);
    await world.plan('plan', [['a']], { ...dependent, max_attempts: 1 });
    await world.depend('plan', 'parent');
    world.acts = { a: fail };
    const steps = world.behaviour;
    world.behaviour = (ctx, input) => (ctx.execution.manifest === 'plan' ? steps(ctx, input) : 'done');
    await trigger(world.context, { externalId: 'parent' });
    await world.drain();
    expect(await world.plans()).toMatchObject([{ state: 'failed', origin: 'dependency' }]);
    await trigger(world.context, { externalId: 'parent' });
    await world.drain();
    expect(await world.plans()).toHaveLength(1);
    world.acts = {};
    await resumeLatest();
    await world.drain();
    expect(await world.plans()).toMatchObject([
      { state: 'failed' },
      { state: 'completed', attempt: 2 },
      { state: 'completed', attempt: 1 },
    ]);
  });
});

describe('rerunning a plan', () => {
  it('begins from the first step, as a new run', async () => {
    await failHalfWay();
    const [first] = await world.plans();
    await rerun(world.context, String(first!.id));
    await world.drain();
    expect(world.began).toEqual(['a', 'b', 'c', 'd']);
    const latest = await world.latest();
    expect(latest).toMatchObject({ state: 'completed', attempt: 1, run_id: latest.id });
  });

  it('is not for a single step', async () => {
    await failHalfWay();
    const [step] = await world.steps();
    await expect(rerun(world.context, String(step!.id))).rejects.toMatchObject({ code: 'not_rerunnable' });
  });
});
