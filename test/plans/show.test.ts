import { describe, expect, it } from 'vitest';
import { sql } from '../../shared/db/sql.ts';
import { changeGroup } from '../../shared/operations/change-group.ts';
import { readExecution } from '../../shared/operations/read-execution.ts';
import { resume } from '../../shared/operations/resume.ts';
import { trigger } from '../../shared/operations/trigger.ts';
import { why } from '../../shared/operations/why.ts';
import { pools } from '../support/engine.ts';
import { fail, usePlans } from './use-plans.ts';

const world = usePlans();
const shown = async () => (await readExecution(world.database, String((await world.latest()).id)))!.plan!;
const reasons = async () => (await why(world.database, 'plan', pools)).reasons;

describe('a plan that is read', () => {
  it('shows its groups, each step by its last attempt, with what it waits for', async () => {
    await world.plan(
      'plan',
      [['a', { name: 'b', maxAttempts: 2, continueOnFailure: true }], [{ name: 'off', isEnabled: false }, 'c'], ['d']],
      {
        backoff_initial_seconds: 30,
      },
    );
    world.acts.b = fail;
    await world.begin();
    await world.deliver();
    const { currentGroupIndex, groupCount, groups } = await shown();
    expect({ currentGroupIndex, groupCount }).toEqual({ currentGroupIndex: 0, groupCount: 3 });
    expect(groups).toMatchObject([
      [
        {
          name: 'a',
          workflow: 'work',
          state: 'completed',
          attempt: 1,
          startedAt: '2026-03-02T00:00:00.000Z',
          runningMs: expect.any(Number),
          waitsFor: [],
        },
        {
          name: 'b',
          state: 'waiting',
          attempt: 2,
          maxAttempts: 2,
          continueOnFailure: true,
          startedAt: null,
          runningMs: null,
          waitsFor: [{ code: 'retry_wait', message: 'attempt 2 of 2 waits until 2026-03-02T00:00:30.000Z (in 30 seconds)' }],
        },
      ],
      [
        { name: 'off', state: 'skipped', failureMessage: 'the step is disabled', waitsFor: [] },
        { name: 'c', state: 'waiting', waitsFor: [{ code: 'not_released', message: '1 group before its own has to be over' }] },
      ],
      [{ name: 'd', waitsFor: [{ code: 'not_released', message: '2 groups before its own have to be over' }] }],
    ]);
    expect((await readExecution(world.database, String((await world.latest()).id)))!.children).toHaveLength(6);
  });

  it('shows what holds a released step', async () => {
    await world.plan('plan', [[{ name: 'a', group: 'off' }, { name: 'b', group: 'full' }, 'c', 'd']]);
    await world.plan('other', [[{ name: 'x', group: 'full' }]]);
    await changeGroup(world.context, 'full', { maxActiveJobs: 1 });
    await changeGroup(world.context, 'off', { isEnabled: false });
    await world.begin('other');
    world.acts.c = (ctx) => ctx.sleep('nap', 60);
    await world.begin();
    await world.execute([(await world.steps())[2]!.id as never]);
    const [steps] = (await shown()).groups;
    expect(steps!.map(({ waitsFor }) => waitsFor.map(({ code }) => code))).toEqual([['group_disabled'], ['group_full'], ['sleeping'], []]);
    expect(steps![1]!.waitsFor[0]!.message).toBe("group 'full' is full: 1 live of at most 1");
  });

  it('shows which steps were taken over', async () => {
    await world.plan('plan', [['a'], ['b']]);
    world.acts.b = fail;
    await world.begin();
    await world.drain();
    world.acts = {};
    await resume(world.context, String((await world.latest()).id));
    await world.drain();
    expect((await shown()).groups.flat().map(({ name, isTakenOver }) => [name, isTakenOver])).toEqual([
      ['a', true],
      ['b', false],
    ]);
    expect((await readExecution(world.database, String((await world.latest()).id)))!.attempts).toMatchObject([
      { state: 'failed' },
      { state: 'completed' },
    ]);
  });

  it('is null for everything else', async () => {
    await world.plan('plan', [['a']]);
    await world.begin();
    expect((await readExecution(world.database, String((await world.steps())[0]!.id)))!.plan).toBeNull();
  });
});

describe('why a plan runs or does not', () => {
  it('tells where it is and what its steps do', async () => {
    await world.plan('plan', [['z'], ['a', { name: 'b', group: 'full' }, 'c'], ['d']]);
    await changeGroup(world.context, 'full', { maxActiveJobs: 1 });
    await world.plan('other', [[{ name: 'x', group: 'full' }]]);
    await world.begin('other');
    await world.begin();
    const other = (await world.steps('other'))[0]!.id;
    world.doorbell.bells = world.doorbell.bells.filter(({ executionId }) => executionId !== other);
    await world.deliver();
    await world.dispatch();
    let during: Awaited<ReturnType<typeof reasons>> = [];
    world.acts.a = async () => {
      world.clock.advance(5);
      during = await reasons();
    };
    const [, a, , c] = await world.steps();
    const { id } = await world.latest();
    await world.execute([a!.id as never]);
    const since = '2026-03-02T00:00:00.000Z (5 seconds ago)';
    expect(during).toEqual([
      { code: 'running', message: `execution ${id}, attempt 1, has been running since ${since}` },
      { code: 'plan_group', message: 'it is at group 2 of 3, with 3 steps not over' },
      { code: 'step_running', message: `step 'a', execution ${a!.id}, attempt 1, has been running since ${since}` },
      { code: 'group_full', message: "step 'b' waits: group 'full' is full: 1 live of at most 1" },
      { code: 'step_starting', message: `step 'c', execution ${c!.id}, was admitted and waits for an executor` },
      { code: 'manual', message: 'it has no schedule: it runs when somebody triggers it' },
    ]);
    expect(await why(world.database, 'plan', pools)).toMatchObject({ state: 'running', runsNow: true });
  });

  it('does not blame a full group, a full house or a pool for an entry that needs no slot', async () => {
    await world.plan('plan', [['a']]);
    await changeGroup(world.context, 'plan', { maxActiveJobs: 1 });
    await world.plan('other', [[{ name: 'x', group: 'plan' }]]);
    await world.begin('other');
    await world.rows(sql`update waybill.capacity set max_active_jobs = 1`);
    const { queueEntryId } = await trigger(world.context, { externalId: 'plan' });
    const sizes = { other: { concurrency: 1, batchSize: 1 } };
    expect((await why(world.database, 'plan', sizes)).reasons[0]).toMatchObject({ code: 'queued' });
    await changeGroup(world.context, 'plan', { isEnabled: false });
    const message = `group 'plan' is disabled and holds entry ${queueEntryId} until it is enabled`;
    expect((await why(world.database, 'plan', sizes)).reasons[0]).toEqual({ code: 'group_disabled', message });
  });
});
