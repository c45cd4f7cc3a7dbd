import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { sql } from '../../shared/db/sql.ts';
import { patchManifest } from '../../shared/define/patch-manifest.ts';
import { planSync, syncApp } from '../../shared/define/sync.ts';
import { app, every, type Plan, type PlanStepOptions, type Scheduler } from '../../shared/index.ts';
import { readManifest } from '../../shared/operations/read-manifest.ts';
import { trigger } from '../../shared/operations/trigger.ts';
import { usePlans } from '../plans/use-plans.ts';
import { workflowNamed } from '../support/engine.ts';

const world = usePlans();
const work = workflowNamed('work');

const defining = (manifests: (scheduler: Scheduler) => void) => app({ name: 'plans', workflows: [work], manifests }).toDefinition();
const deploy = async (manifests: (scheduler: Scheduler) => void) => syncApp(world.database, await defining(manifests), randomUUID());
const step = (plan: Plan, name: string, options?: PlanStepOptions) => plan.step(name, work, { step: name }, options);
const nightly = (build: (plan: Plan) => void) => (scheduler: Scheduler) =>
  build(scheduler.plan('plan', every.hours(24), { isEnabled: false }));
const twoSteps = nightly((plan) => step(step(plan, 'a'), 'b'));

interface StoredStep {
  id: number;
  group_index: number;
  position: number;
  name: string;
}
const stored = (externalId = 'plan') =>
  world.rows<StoredStep>(sql`
    select s.*, g.name as group_name from waybill.plan_step s join waybill.manifest m on m.id = s.plan_id join waybill.manifest_group g on g.id = s.group_id
     where m.external_id = ${externalId} and m.deleted_at is null order by s.group_index, s.position`);
const places = async () => (await stored()).map(({ group_index, position, name }) => [group_index, position, name]);

it.each([
  ['timed', every.hours(24)],
  ['one-time', new Date('2027-01-01T00:00:00Z')],
] as const)('a pool is no more for a %s plan in a patch than in its declaration', async (kind, when) => {
  const declare = (options: object) => (scheduler: Scheduler) =>
    void step(when instanceof Date ? scheduler.planOnce('plan', when, options) : scheduler.plan('plan', when, options), 'a');
  const words = `manifest 'plan': option 'pool' is not for a ${kind} plan; allowed are `;
  await expect(deploy(declare({ pool: 'heavy' }))).rejects.toThrow(words);
  await deploy(declare({}));
  for (const pool of ['heavy', null]) await expect(patchManifest(world.context, 'plan', { pool })).rejects.toThrow(words);
  await patchManifest(world.context, 'plan', { priority: 3 });
  expect(await world.manifest('plan')).toMatchObject({ pool: null, priority: 3 });
});

describe('a deployment of a plan', () => {
  it('writes its steps with the defaults of what is not stated', async () => {
    const { created } = await deploy(
      nightly((plan) =>
        step(plan, 'a').parallel((group) =>
          group.step('b', work, null, {
            continueOnFailure: true,
            timeoutSeconds: 60,
            maxAttempts: 4,
            group: { name: 'narrow', maxActiveJobs: 1 },
            pool: 'heavy',
            isEnabled: false,
          }),
        ),
      ),
    );
    expect(created).toEqual(['plan']);
    expect(await world.manifest('plan')).toMatchObject({ kind: 'plan', workflow_name: null });
    expect(await stored()).toMatchObject([
      {
        group_index: 0,
        position: 0,
        name: 'a',
        workflow_name: 'work',
        input: { step: 'a' },
        group_name: 'plan',
        pool: null,
        continue_on_failure: false,
        timeout_seconds: null,
        max_attempts: 1,
        is_enabled: true,
      },
      {
        group_index: 1,
        position: 0,
        name: 'b',
        input: null,
        group_name: 'narrow',
        pool: 'heavy',
        continue_on_failure: true,
        timeout_seconds: 60,
        max_attempts: 4,
        is_enabled: false,
      },
    ]);
  });

  it('that says the same again touches nothing', async () => {
    await deploy(twoSteps);
    const [before, manifest] = [await stored(), await world.manifest('plan')];
    expect(await deploy(twoSteps)).toMatchObject({ created: [], changed: [], unchangedCount: 1 });
    expect(await stored()).toEqual(before);
    expect(await world.manifest('plan')).toEqual(manifest);
  });

  it('with another setting of the plan keeps its steps as they are', async () => {
    await deploy(twoSteps);
    const before = await stored();
    const report = await deploy(
      (scheduler) => void step(step(scheduler.plan('plan', every.hours(24), { isEnabled: false, priority: 5 }), 'a'), 'b'),
    );
    expect(report).toMatchObject({ changedFields: { plan: ['priority'] } });
    expect(await stored()).toEqual(before);
  });

  const changes: [string, (plan: Plan) => void][] = [
    ['another step', (plan) => step(step(step(plan, 'a'), 'b'), 'c')],
    ['a step less', (plan) => step(plan, 'a')],
    ['another order', (plan) => step(step(plan, 'b'), 'a')],
    ['another grouping', (plan) => plan.parallel((group) => group.step('a', work, { step: 'a' }).step('b', work, { step: 'b' }))],
    ['another input', (plan) => step(plan, 'a').step('b', work, { step: 'c' })],
    ['another setting', (plan) => step(step(plan, 'a'), 'b', { continueOnFailure: true })],
    ['another group of a step', (plan) => step(step(plan, 'a'), 'b', { group: 'elsewhere' })],
  ];

  it.each(changes)('with %s replaces the steps of that plan and of no other', async (_, build) => {
    const declare = (steps: (plan: Plan) => void) => (scheduler: Scheduler) => {
      nightly(steps)(scheduler);
      step(scheduler.planOnce('other', '2027-01-01T00:00:00Z'), 'a');
    };
    await deploy(declare((plan) => step(step(plan, 'a'), 'b')));
    const [other, before, version] = [await stored('other'), await stored(), (await readManifest(world.database, 'plan'))!.version];
    const planned = await planSync(world.database, await defining(declare(build)));
    expect(planned).toMatchObject({ changedFields: { plan: ['steps'] } });
    expect(await stored()).toEqual(before);

    const report = await deploy(declare(build));
    expect(report).toMatchObject({ changed: ['plan'], changedFields: { plan: ['steps'] }, unchangedCount: 1 });
    expect(await world.manifest('plan')).toMatchObject({ version: version + 1 });
    expect(await stored('other')).toEqual(other);
    expect((await readManifest(world.database, 'plan'))?.steps?.flat().map(({ name }) => name)).toEqual(
      (await stored()).map(({ name }) => name),
    );
    expect(await deploy(declare(build))).toMatchObject({ changed: [] });
  });

  it('is audited with the steps as they were and as they are', async () => {
    await deploy(twoSteps);
    await deploy(nightly((plan) => step(step(plan, 'b'), 'a')));
    const events = await world.rows<{ action: string; before: { steps: { name: string }[][] }; after: { steps: unknown[][] } }>(sql`
      select action, before, after from waybill.audit_event where target = 'plan' and target_type = 'manifest' order by id`);
    expect(events.map(({ action }) => action)).toEqual(['manifest.create', 'manifest.change']);
    expect(events[0]!.after.steps).toEqual([['a'], ['b']]);
    expect(events[1]!.before.steps.flat().map(({ name }) => name)).toEqual(['a', 'b']);
    expect(events[1]!.after.steps.flat()).toMatchObject([{ name: 'b' }, { name: 'a' }]);
  });

  it('that makes a plan of a job, or a job of a plan, is refused, and so is its dry run', async () => {
    const job = (scheduler: Scheduler) => void scheduler.schedule(work, 'plan', {}, every.hours(24));
    await deploy(job);
    await expect(deploy(twoSteps)).rejects.toThrow(
      "app 'plans' declares manifests as what they are not: 'plan' is a job. Choose other ids, or deploy once without them first",
    );
    await expect(planSync(world.database, await defining(twoSteps))).rejects.toMatchObject({ code: 'kind_changed' });
    expect(await stored()).toEqual([]);
    await world.empty();
    await deploy(twoSteps);
    await expect(deploy(job)).rejects.toThrow("'plan' is a plan");
  });

  it('that leaves a plan out takes it away, and one that brings it back begins anew', async () => {
    const other = (scheduler: Scheduler) => void scheduler.schedule(work, 'other', { step: 'other' }, every.hours(24));
    await deploy(twoSteps);
    expect(await deploy(other)).toMatchObject({ pruned: ['plan'] });
    await deploy(twoSteps);
    expect(await places()).toEqual([
      [0, 0, 'a'],
      [1, 0, 'b'],
    ]);
  });
});

describe('while a plan runs', () => {
  beforeEach(async () => {
    await deploy(twoSteps);
    await trigger(world.context, { externalId: 'plan' });
    await world.dispatch();
  });

  it('a deployment with other steps does not touch the run, and the next one takes them', async () => {
    await deploy(nightly((plan) => step(plan, 'new')));
    await world.drain();
    expect(await world.states()).toEqual({ a: 'completed', b: 'completed' });
    await trigger(world.context, { externalId: 'plan' });
    await world.drain();
    expect(await world.states()).toEqual({ new: 'completed' });
  });

  it('a deployment that moves its group moves no step that is queued', async () => {
    await deploy((scheduler) => void step(step(scheduler.plan('plan', every.hours(24), { isEnabled: false, group: 'moved' }), 'a'), 'b'));
    expect((await stored()).map((one) => (one as { group_name?: string }).group_name)).toEqual(['moved', 'moved']);
    await world.drain();
    expect(await world.states()).toEqual({ a: 'completed', b: 'completed' });
  });

  it('a deployment without it lets it end, and then it is gone', async () => {
    await deploy((scheduler) => void scheduler.schedule(work, 'other', { step: 'other' }, every.hours(24), { isEnabled: false }));
    expect(await world.manifest('plan')).toMatchObject({ deleted_at: null });
    await world.drain();
    expect(await world.latest()).toMatchObject({ state: 'completed' });
    expect((await world.manifest('plan')).deleted_at).not.toBeNull();
  });

  it('a deployment without it and one with it again keep it', async () => {
    await deploy((scheduler) => void scheduler.schedule(work, 'other', { step: 'other' }, every.hours(24), { isEnabled: false }));
    expect(await deploy(twoSteps)).toMatchObject({ changedFields: { plan: ['retiring'] } });
    await world.drain();
    expect(await world.manifest('plan')).toMatchObject({ deleted_at: null, retiring_at: null, success_count: 1 });
  });
});

it('a plan that starts during a deployment has the old steps or the new ones, never some of each', async () => {
  const one = nightly((plan) => step(step(plan, 'a'), 'b'));
  const other = nightly((plan) => step(step(step(plan, 'x'), 'y'), 'z'));
  await deploy(one);
  const seen = new Set<string>();
  for (let round = 0; round < 20; round++) {
    await trigger(world.context, { externalId: 'plan' });
    await Promise.all([deploy(round % 2 ? one : other), world.dispatch()]);
    await world.dispatch();
    const { group_count } = await world.latest();
    const names = (await world.steps()).map(({ step_name }) => step_name).join(' ');
    expect(['a b', 'x y z']).toContain(names);
    expect(group_count).toBe(names.split(' ').length);
    seen.add(names);
    await world.drain();
  }
  expect(seen.size).toBe(2);
});

it('a setting that is patched leaves the steps alone', async () => {
  await deploy(twoSteps);
  const before = await stored();
  await patchManifest(world.context, 'plan', { maxAttempts: 7 });
  expect(await stored()).toEqual(before);
  expect(await readManifest(world.database, 'plan')).toMatchObject({ kind: 'plan', workflow: null, maxAttempts: 7 });
});

it('a manifest reads its steps by group; a job has none', async () => {
  await deploy((scheduler) => {
    scheduler.schedule(work, 'job', {}, every.hours(24));
    scheduler.plan('plan', every.hours(24)).parallel((group) => group.step('a', work, 1).step('b', work, 2, { maxAttempts: 2 }));
  });
  expect((await readManifest(world.database, 'job'))?.steps).toBeNull();
  const common = { workflow: 'work', group: 'plan', pool: null, continueOnFailure: false, timeoutSeconds: null, isEnabled: true };
  expect((await readManifest(world.database, 'plan'))?.steps).toEqual([
    [
      { ...common, name: 'a', input: 1, maxAttempts: 1 },
      { ...common, name: 'b', input: 2, maxAttempts: 2 },
    ],
  ]);
});
