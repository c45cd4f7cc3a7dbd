import { describe, expect, it } from 'vitest';
import { sql } from '../../shared/db/sql.ts';
import { NonRetryableError } from '../../shared/errors.ts';
import { changeGroup } from '../../shared/operations/change-group.ts';
import { acknowledgeDeadLetter } from '../../shared/operations/resolve-dead-letter.ts';
import { fail, usePlans } from './use-plans.ts';

const world = usePlans();
const backoff = { backoff_initial_seconds: 10, backoff_factor: 2 };

/** All ways in which so many steps can succeed or fail, each with its own flag. */
function combinations(count: number): { fails: boolean; continues: boolean }[][] {
  if (count === 0) return [[]];
  const one = [false, true].flatMap((fails) => [false, true].map((continues) => ({ fails, continues })));
  return combinations(count - 1).flatMap((rest) => one.map((step) => [...rest, step]));
}

describe('a group whose steps differ in what they tolerate', () => {
  it.each([2, 3])(
    'of %i steps is fatal only if one fails whose own flag is false, in every combination, and that one is named',
    async (count) => {
      const all = combinations(count);
      const nameOf = (place: number, index: number) => `${place}-${index}`;
      for (const [place, steps] of all.entries()) {
        const group = steps.map(({ continues }, index) => ({ name: nameOf(place, index), continueOnFailure: continues }));
        await world.plan(`plan-${place}`, [group, [`${place}-last`]]);
        for (const [index, { fails }] of steps.entries()) if (fails) world.acts[nameOf(place, index)] = fail;
        await world.begin(`plan-${place}`);
      }
      await world.drain();
      for (const [place, steps] of all.entries()) {
        const fatal = steps.findIndex(({ fails, continues }) => fails && !continues);
        const isTolerated = steps.some(({ fails }) => fails);
        const plan = await world.latest(`plan-${place}`);
        const states = await world.states(`plan-${place}`);
        for (const [index, { fails }] of steps.entries()) expect(states[nameOf(place, index)]).toBe(fails ? 'failed' : 'completed');
        expect(states[`${place}-last`]).toBe(fatal < 0 ? 'completed' : 'skipped');
        expect(plan, JSON.stringify(steps)).toMatchObject(
          fatal < 0
            ? { state: isTolerated ? 'completed_with_warnings' : 'completed', failure_code: null, failure_step: null }
            : { state: 'failed', failure_code: 'step_failed', failure_step: nameOf(place, fatal) },
        );
        expect(await world.manifest(`plan-${place}`)).toMatchObject({ success_count: fatal < 0 ? 1 : 0, failed_count: fatal < 0 ? 0 : 1 });
      }
    },
    60_000,
  );

  it('finishes its live and its waiting steps before the plan fails', async () => {
    await world.plan('plan', [['a', 'b', 'c'], ['d']]);
    await changeGroup(world.context, 'plan', { maxActiveJobs: 1 });
    world.acts.a = fail;
    await world.begin();
    await world.deliver();
    expect(await world.latest()).toMatchObject({ state: 'in_progress', current_group_index: 0 });
    await world.drain();
    expect(world.began).toEqual(['a', 'b', 'c']);
    expect(await world.states()).toEqual({ a: 'failed', b: 'completed', c: 'completed', d: 'skipped' });
    expect(await world.latest()).toMatchObject({ state: 'failed', failure_message: "step 'a' failed: no", failure_step: 'a' });
    expect((await world.steps()).at(-1)).toMatchObject({
      failure_code: 'plan_ended',
      failure_message: 'the plan ended as failed before its turn',
    });
  });

  it('passes a step’s warnings on to the plan, which has succeeded', async () => {
    await world.plan('plan', [['a'], ['b']]);
    world.acts.a = (ctx) => {
      ctx.warn('half of it');
      return {};
    };
    await world.begin();
    await world.drain();
    expect(await world.states()).toEqual({ a: 'completed_with_warnings', b: 'completed' });
    expect(await world.latest()).toMatchObject({ state: 'completed_with_warnings' });
    expect(await world.manifest('plan')).toMatchObject({ success_count: 1 });
  });
});

describe('a group that is wider than its capacity', () => {
  it('runs in waves, and the next group begins only when all of it is over', async () => {
    const wide = Array.from({ length: 7 }, (_, index) => ({ name: `w${index}`, group: 'narrow' }));
    await world.plan('plan', [wide, ['after']]);
    await changeGroup(world.context, 'narrow', { maxActiveJobs: 3 });
    await world.begin();
    const waves: number[] = [];
    while ((await world.latest()).current_group_index === 0) {
      waves.push(world.doorbell.bells.length);
      expect((await world.steps()).at(-1)).toMatchObject({ step_name: 'after', state: 'waiting' });
      await world.deliver();
      await world.dispatch();
    }
    expect(waves).toEqual([3, 3, 1]);
    await world.drain();
    expect(world.began.at(-1)).toBe('after');
    expect(await world.latest()).toMatchObject({ state: 'completed' });
  });

  it('waits in a disabled group for as long as that is', async () => {
    await world.plan('plan', [['a', { name: 'held', group: 'off' }], ['b']]);
    await changeGroup(world.context, 'off', { isEnabled: false });
    await world.begin();
    await world.drain();
    expect(await world.states()).toEqual({ a: 'completed', held: 'waiting', b: 'waiting' });
    await changeGroup(world.context, 'off', { isEnabled: true });
    await world.drain();
    expect(await world.latest()).toMatchObject({ state: 'completed' });
  });
});

describe('a step that fails', () => {
  it('is tried again as a new execution at its place, after its plan’s backoff, while the group waits', async () => {
    await world.plan('plan', [[{ name: 'a', maxAttempts: 3 }, 'b'], ['c']], backoff);
    let failures = 2;
    world.acts.a = (ctx) => {
      if (failures-- > 0) throw new Error(`attempt ${ctx.attempt}`);
      return ctx.attempt;
    };
    await world.begin();
    await world.deliver();
    const [first, second, b] = await world.steps();
    expect(first).toMatchObject({ step_name: 'a', state: 'failed', attempt: 1, failure_message: 'attempt 1' });
    expect(second).toMatchObject({
      step_name: 'a',
      state: 'waiting',
      attempt: 2,
      run_id: first!.run_id,
      position: 0,
      input: { step: 'a' },
    });
    expect(b).toMatchObject({ state: 'completed' });
    expect(await world.rows(sql`select available_at, lane, attempt from waybill.work_queue where status = 'queued'`)).toEqual([
      { available_at: world.at('00:00:10'), lane: 'retry', attempt: 2 },
    ]);
    await world.drain();
    expect(world.clock.now()).toEqual(world.at('00:00:30'));
    expect(world.began).toEqual(['a', 'b', 'a', 'a', 'c']);
    expect((await world.steps())[2]).toMatchObject({ attempt: 3, state: 'completed', output: 3 });
    expect(await world.latest()).toMatchObject({ state: 'completed' });
  });

  it('fails without further retry when no attempt can help, and writes no dead letter', async () => {
    await world.plan('plan', [[{ name: 'a', maxAttempts: 5 }]]);
    world.acts.a = () => {
      throw new NonRetryableError('never');
    };
    await world.begin();
    await world.drain();
    expect(await world.steps()).toMatchObject([{ attempt: 1, state: 'failed', failure_code: 'non_retryable' }]);
    expect(await world.latest()).toMatchObject({ state: 'failed', failure_message: "step 'a' failed: never" });
    expect(await world.rows(sql`select from waybill.dead_letter`)).toEqual([]);
  });

  it('whose workflow is unknown is handed back for ten minutes and then fails: it is never passed over', async () => {
    await world.plan('plan', [[{ name: 'a', workflow: 'gone', maxAttempts: 3 }], ['b']]);
    await world.begin();
    await world.deliver();
    expect(await world.states()).toEqual({ a: 'pending', b: 'waiting' });
    for (let minute = 0; minute < 25; minute++) {
      world.clock.advance(60);
      await world.cycle();
    }
    expect(await world.steps()).toMatchObject([
      { attempt: 1, state: 'failed', failure_code: 'unknown_workflow' },
      { step_name: 'b', state: 'skipped' },
    ]);
    expect(await world.latest()).toMatchObject({ state: 'failed', failure_step: 'a' });
  });

  it('by its own timeout is a failed step like any other', async () => {
    await world.plan('plan', [[{ name: 'a', timeoutSeconds: 1, continueOnFailure: true }], ['b']]);
    world.acts.a = (ctx) => new Promise((_, reject) => ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason)));
    await world.begin();
    await world.drain();
    expect(await world.steps()).toMatchObject([{ state: 'failed', failure_code: 'timeout' }, { state: 'completed' }]);
    expect(await world.latest()).toMatchObject({ state: 'completed_with_warnings' });
  });

  it('whose executor died is tried again, and the plan waits for it', async () => {
    await world.plan('plan', [[{ name: 'a', maxAttempts: 2 }], ['b']], backoff);
    await world.begin();
    await world.rows(sql`
      update waybill.execution set state = 'in_progress', started_at = waybill.now(), lease_token = gen_random_uuid(), lease_expires_at = waybill.now() + interval '45 seconds'
       where state = 'pending'`);
    world.doorbell.bells.length = 0;
    world.clock.advance(46);
    await world.manage();
    expect(await world.steps()).toMatchObject([
      { state: 'failed', failure_code: 'lease_lost' },
      { state: 'waiting', attempt: 2 },
      { state: 'waiting' },
    ]);
    await world.drain();
    expect(await world.latest()).toMatchObject({ state: 'completed' });
  });
});

describe('a plan that fails', () => {
  it('is not tried again by itself; failures in a row reach its maxAttempts and are dead-lettered', async () => {
    await world.plan('plan', [['a']], { max_attempts: 2 });
    world.acts.a = fail;
    await world.begin();
    await world.drain();
    world.clock.advance(3_600);
    await world.drain();
    expect(await world.plans()).toHaveLength(1);
    expect(await world.manifest('plan')).toMatchObject({ failed_count: 1 });
    await world.begin();
    await world.drain();
    expect(await world.awaiting('plan')).toMatchObject({ reason: 'plan_failed', failed_count: 2 });
    await world.begin();
    expect(await world.plans()).toHaveLength(2);
    await acknowledgeDeadLetter(world.context, (await world.awaiting('plan')).id);
    world.acts = {};
    await world.drain();
    expect(await world.plans()).toMatchObject([{ state: 'failed' }, { state: 'failed' }, { state: 'completed' }]);
    expect(await world.manifest('plan')).toMatchObject({ failed_count: 0 });
  });

  it('begins to count anew after a success', async () => {
    await world.plan('plan', [['a']], { max_attempts: 2 });
    for (const act of [fail, () => 'fine', fail]) {
      world.acts.a = act;
      await world.begin();
      await world.drain();
    }
    expect(await world.manifest('plan')).toMatchObject({ failed_count: 1, success_count: 1 });
    expect(await world.rows(sql`select from waybill.dead_letter`)).toEqual([]);
  });
});
