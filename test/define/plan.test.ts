import { describe, expect, it } from 'vitest';
import { cron, every, exclude, handle, type Plan, type PlanGroup, type Scheduler } from '../../shared/index.ts';
import { copy, define, mistakesOf, parentsOf, plain } from './use-mistakes.ts';

const nightly = cron('0 2 * * *', { timeZone: 'Europe/London' });

describe('a plan', () => {
  it('is a manifest whose steps are groups in the order in which they run', async () => {
    const { manifests } = await define((scheduler) => {
      scheduler
        .plan('nightly', nightly)
        .step('first', copy, { table: 'people' })
        .parallel((group) => group.step('left', plain, 1).step('right', plain, 2, { continueOnFailure: true }))
        .step('last', plain, null, { maxAttempts: 2, timeoutSeconds: 60, pool: 'heavy', isEnabled: false });
    });
    expect(manifests).toEqual([
      {
        externalId: 'nightly',
        workflow: null,
        input: {},
        group: 'nightly',
        schedule: { type: 'cron', expression: '0 2 * * *', timeZone: 'Europe/London' },
        steps: [
          [{ name: 'first', workflow: 'copy', input: { table: 'people' }, group: 'nightly' }],
          [
            { name: 'left', workflow: 'plain', input: 1, group: 'nightly' },
            { name: 'right', workflow: 'plain', input: 2, group: 'nightly', continueOnFailure: true },
          ],
          [
            {
              name: 'last',
              workflow: 'plain',
              input: null,
              group: 'nightly',
              maxAttempts: 2,
              timeoutSeconds: 60,
              pool: 'heavy',
              isEnabled: false,
            },
          ],
        ],
      },
    ]);
  });

  it('has what any timed manifest has', async () => {
    const { manifests } = await define((scheduler) => {
      scheduler
        .plan('often', every.hours(1), {
          priority: 3,
          maxAttempts: 1,
          timeoutSeconds: 7200,
          misfire: 'skip',
          jitterSeconds: 10,
          exclude: [exclude.weekdays('sunday')],
          backoff: { initialSeconds: 5 },
          expectWithinSeconds: 600,
          isEnabled: false,
        })
        .step('one', plain, {});
    });
    expect(manifests[0]).toMatchObject({
      priority: 3,
      maxAttempts: 1,
      timeoutSeconds: 7200,
      misfire: { policy: 'skip' },
      jitterSeconds: 10,
      exclusions: [{ type: 'weekdays', weekdays: ['sunday'] }],
      backoff: { initialSeconds: 5 },
      expectWithinSeconds: 600,
      isEnabled: false,
    });
  });

  it('may run once, after the root, or after the cursor', async () => {
    const { manifests } = await define((scheduler) => {
      scheduler.planOnce('once', '2026-12-24T18:00:00Z').step('one', plain, {});
      scheduler.schedule(plain, 'root', {}, nightly).include(plain, 'cursor', {});
      scheduler.thenIncludePlan('after-cursor').step('one', plain, {});
      scheduler.includePlan('after-root', { mode: 'any' }).step('one', plain, {});
    });
    expect(manifests.filter(({ steps }) => steps).map(({ externalId, schedule }) => [externalId, schedule])).toEqual([
      ['once', { type: 'once', runAt: '2026-12-24T18:00:00Z' }],
      ['after-cursor', { type: 'dependent', dependsOn: ['cursor'], mode: 'all' }],
      ['after-root', { type: 'dependent', dependsOn: ['root'], mode: 'any' }],
    ]);
  });

  it('is the root of what is included after it, and stands for itself in dependsOn', async () => {
    const definition = await define((scheduler) => {
      const first = scheduler.plan('first', nightly).step('one', plain, {});
      scheduler.include(plain, 'after-first', {}).thenInclude(plain, 'after-that', {});
      const second = scheduler.planOnce('second', '2026-12-24T18:00:00Z').step('one', plain, {});
      scheduler.includePlan('after-both', { dependsOn: [first, second] }).step('one', plain, {});
      scheduler.include(plain, 'by-id', {}, { dependsOn: 'first' });
    });
    expect(parentsOf(definition)).toEqual({
      first: null,
      'after-first': ['first'],
      'after-that': ['after-first'],
      second: null,
      'after-both': ['first', 'second'],
      'by-id': ['first'],
    });
  });

  it('has its steps in its own group unless they name another, and all of them are declared', async () => {
    const { groups, manifests } = await define((scheduler) => {
      scheduler
        .plan('plan', nightly, { group: { name: 'nights', maxActiveJobs: 2 } })
        .step('here', plain, {})
        .step('there', plain, {}, { group: 'others' })
        .step('limited', plain, {}, { group: { name: 'narrow', maxActiveJobs: 1 } });
    });
    expect(groups).toEqual([{ name: 'nights', maxActiveJobs: 2 }, { name: 'others' }, { name: 'narrow', maxActiveJobs: 1 }]);
    expect(manifests[0]!.steps!.flat().map(({ group }) => group)).toEqual(['nights', 'others', 'narrow']);
  });

  it('of groups that depend on each other only by its steps is no circle', async () => {
    await define((scheduler) => {
      scheduler.schedule(plain, 'job', {}, nightly, { group: 'a' });
      scheduler.includePlan('plan', { group: 'b' }).step('one', plain, {}, { group: 'a' });
    });
  });
});

describe('refuses', () => {
  const refusals: [string, (plan: Plan) => unknown, string[]][] = [
    ['a plan without steps', () => {}, ["it has no steps, so a run would do nothing; add some with 'step' or 'parallel'"]],
    [
      'an empty group',
      (plan) =>
        plan
          .parallel(() => {})
          .step('one', plain, {})
          .parallel((group) => group),
      [
        "its 'parallel' at its beginning has no steps; add some to the group that it gives, or leave it out",
        "its 'parallel' after step 'one' has no steps; add some to the group that it gives, or leave it out",
      ],
    ],
    [
      'a parallel that is no function',
      (plan) => plan.step('one', plain, {}).parallel([] as never),
      [
        "'parallel' takes a function that adds steps to its group, got []",
        "its 'parallel' after step 'one' has no steps; add some to the group that it gives, or leave it out",
      ],
    ],
    [
      'two steps of one name, in one group or in two',
      (plan) => plan.step('one', plain, {}).parallel((group) => group.step('one', plain, {}).step('two', plain, {})),
      ["it has two steps called 'one'; names must be unique"],
    ],
    [
      'steps that are all disabled',
      (plan) => plan.step('one', plain, {}, { isEnabled: false }).step('two', plain, {}, { isEnabled: false }),
      ['all of its steps are disabled, so a run would do nothing; enable one, or disable the plan itself'],
    ],
    [
      'a workflow that is not of the app, and one that is none',
      (plan) => plan.step('stranger', { ...plain, name: 'other' }, {}).step('nothing', undefined as unknown as typeof plain, {}),
      [
        "step 'stranger': workflow 'other' is not part of the app; add it to 'workflows'",
        "step 'nothing': its workflow must be made by 'workflow', got undefined",
      ],
    ],
    [
      'an input that its workflow does not take, and one that is not JSON',
      (plan) => plan.step('wrong', copy, { table: 1 as never }).step('lost', plain, { at: Number.NaN }),
      [
        "step 'wrong': its input is invalid at 'table': Invalid input: expected string, received number",
        "step 'lost': its input is not JSON at 'at': NaN would not come back as it is; give text, finite numbers, booleans, lists and objects",
      ],
    ],
    [
      'options that are wrong, not for a step, or none',
      (plan) =>
        plan
          .step('one', plain, {}, { maxAttempts: 0, timeoutSeconds: 1.5, pool: 'Heavy', continueOnFailure: 'yes' as never })
          .step('two', plain, {}, { priority: 3, continueOnfailure: true } as never)
          .step('three', plain, {}, 'fast' as never),
      [
        "step 'one': maxAttempts must be a whole number from 1 to 1000, got 0",
        "step 'one': timeoutSeconds must be a whole number from 1 to 31536000, got 1.5",
        "step 'one': pool 'Heavy' must be 1 to 32 lower-case letters, digits and dashes, beginning with a letter",
        "step 'one': continueOnFailure must be true or false, got 'yes'",
        "step 'two': option 'priority' is not for a step; allowed are group, maxAttempts, timeoutSeconds, isEnabled, pool, continueOnFailure",
        "step 'two': option 'continueOnfailure' does not exist; did you mean 'continueOnFailure'?",
        "step 'three': its options must be an object, got 'fast'",
      ],
    ],
    [
      'a name that no row can hold',
      (plan) => plan.step('', plain, {}).step('x'.repeat(201), plain, {}),
      [
        "step '': its name must be 1 to 200 characters of well-formed text, without U+0000",
        `step '${'x'.repeat(99)}…: its name must be 1 to 200 characters of well-formed text, without U+0000`,
      ],
    ],
    [
      'more steps than one transaction should start',
      (plan) => plan.parallel((group) => Array.from({ length: 501 }, (_, index) => group.step(`step ${index}`, plain, {}))),
      ['it has 501 steps; at most 500 are allowed'],
    ],
  ];

  it.each(refusals)('%s', async (_, build, problems) => {
    const mistakes = await mistakesOf(define((scheduler) => void build(scheduler.plan('nightly', nightly))));
    expect(mistakes).toEqual(problems.map((problem) => `manifest 'nightly': ${problem}`));
  });

  const one = (plan: Plan) => void plan.step('one', plain, {});
  const declarations: [string, (scheduler: Scheduler) => void, string[]][] = [
    [
      'a pool, which only steps have',
      (scheduler) => one(scheduler.plan('p', nightly, { pool: 'heavy' } as never)),
      [
        "manifest 'p': option 'pool' is not for a timed plan; allowed are group, priority, maxAttempts, backoff, timeoutSeconds, isEnabled, expectWithinSeconds, misfire, misfireThresholdSeconds, jitterSeconds, exclude",
      ],
    ],
    [
      'a dormant plan',
      (scheduler) => {
        scheduler.schedule(plain, 'root', {}, nightly);
        one(scheduler.includePlan('p', { dormant: true } as never));
      },
      [
        "manifest 'p': option 'dormant' is not for a dependent plan; allowed are group, priority, maxAttempts, backoff, timeoutSeconds, isEnabled, expectWithinSeconds, dependsOn, mode",
      ],
    ],
    [
      'a schedule that is none',
      (scheduler) => one(scheduler.plan('p', '0 2 * * *' as never)),
      ["manifest 'p': its schedule must be made by 'every' or 'cron', got '0 2 * * *'"],
    ],
    [
      'a dependent plan without parents',
      (scheduler) => one(scheduler.includePlan('p')),
      ["manifest 'p': it depends on nothing, so it would never run; begin its chain with 'schedule', or name its parents in 'dependsOn'"],
    ],
    [
      'an id that is taken, by a job or by another plan',
      (scheduler) => {
        scheduler.schedule(plain, 'p', {}, nightly);
        one(scheduler.plan('p', nightly));
      },
      ["manifest 'p' is declared twice; ids must be unique"],
    ],
    [
      'a handle of a workflow for a plan',
      (scheduler) => {
        one(scheduler.plan('p', nightly));
        scheduler.include(plain, 'job', {}, { dependsOn: handle(plain, 'p') });
      },
      ["manifest 'job': its parent 'p' is a plan, but the handle is of workflow 'plain'; say 'p' or { externalId: 'p' }"],
    ],
    [
      'plans that wait for each other',
      (scheduler) => {
        one(scheduler.includePlan('p', { dependsOn: 'q' }));
        one(scheduler.includePlan('q', { dependsOn: 'p' }));
      },
      ['circular dependency detected among manifests: q → p → q'],
    ],
    [
      'settings of one group that contradict each other, in a plan and in its steps',
      (scheduler) =>
        void scheduler.plan('p', nightly, { group: { maxActiveJobs: 1 } }).step('one', plain, {}, { group: { maxActiveJobs: 2 } }),
      ["group 'p': maxActiveJobs is stated as 1 and as 2; state it once"],
    ],
  ];

  it.each(declarations)('%s', async (_, declare, mistakes) => {
    expect(await mistakesOf(define(declare))).toEqual(mistakes);
  });
});

it('the compiler knows what a step takes', () => {
  const declare = (plan: Plan, group: PlanGroup) => {
    // @ts-expect-error the input of 'copy' has a table
    plan.step('one', copy, {});
    // @ts-expect-error a step has no priority
    group.step('one', plain, {}, { priority: 1 });
    group.step('one', copy, { table: 'people', limit: 3 });
  };
  expect(declare).toBeTypeOf('function');
});
