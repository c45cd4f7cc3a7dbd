import { beforeEach, describe, expect, it } from 'vitest';
import { cancelEntry } from '../../shared/operations/cancel-entry.ts';
import { rerun } from '../../shared/operations/rerun.ts';
import { type Trigger, trigger } from '../../shared/operations/trigger.ts';
import { everyMinute, fail, none, useWorld } from './use-world.ts';

const world = useWorld();
const { at } = world;
const job = 'job';
const ask = (request: Partial<Trigger> = {}) => trigger(world.context, { externalId: job, ...request });
const conflict = { code: 'already_queued' };
const ran = async () => (await world.runs(job)).map(({ input }) => input);

beforeEach(() => world.sync([{ externalId: job, schedule: none, input: { own: true }, backoff: { initialSeconds: 300, jitter: 0 } }]));

describe('nothing waits', () => {
  it('without input it queues the manifest’s', async () => {
    expect(await ask()).toMatchObject({ outcome: 'queued', behindExecutionId: null });
    await world.drain();
    expect(await ran()).toEqual([{ own: true }]);
  });

  it('with input it queues that', async () => {
    expect(await ask({ input: { asked: true } })).toMatchObject({ outcome: 'queued' });
    await world.drain();
    expect(await ran()).toEqual([{ asked: true }]);
  });

  it.each([[undefined], [{ asked: true }]])('delayed with input %j it runs at its instant and not before', async (input) => {
    await ask({ input, delaySeconds: 600 });
    world.clock.set(at('00:09:59'));
    expect(await world.dispatch()).toMatchObject({ admittedCount: 0 });
    world.clock.set(at('00:10:00'));
    await world.drain();
    expect(await ran()).toEqual([input ?? { own: true }]);
  });

  it('keeps the input it was given through a deployment that changes the manifest’s', async () => {
    await ask({ input: { asked: true } });
    await world.sync([{ externalId: job, schedule: none, input: { own: 'changed' } }]);
    await world.drain();
    expect(await ran()).toEqual([{ asked: true }]);
  });
});

describe('a fresh entry waits', () => {
  it('for now: without input it finds it', async () => {
    const { queueEntryId } = await ask({ input: { first: true } });
    expect(await ask()).toMatchObject({ outcome: 'already_queued', queueEntryId });
    await world.drain();
    expect(await ran()).toEqual([{ first: true }]);
  });

  it('for later: without input it is brought forward, keeping its input', async () => {
    const { queueEntryId } = await ask({ delaySeconds: 600 });
    expect(await ask()).toMatchObject({ outcome: 'brought_forward', queueEntryId });
    expect(await world.dispatch()).toMatchObject({ admittedCount: 1 });
    await world.drain();
    expect(await ran()).toEqual([{ own: true }]);
  });

  it('for later: a delayed trigger brings it forward to its own instant, and never puts it off', async () => {
    const { queueEntryId } = await ask({ delaySeconds: 600 });
    expect(await ask({ delaySeconds: 300 })).toMatchObject({ outcome: 'brought_forward', queueEntryId });
    expect(await world.entries(job)).toMatchObject([{ available_at: at('00:05:00') }]);
    expect(await ask({ delaySeconds: 900 })).toMatchObject({ outcome: 'already_queued', queueEntryId });
    expect(await world.entries(job)).toMatchObject([{ available_at: at('00:05:00') }]);
  });

  it('with another input: with input it is refused', async () => {
    await ask();
    await expect(ask({ input: { asked: true } })).rejects.toMatchObject(conflict);
    await world.drain();
    expect(await ran()).toEqual([{ own: true }]);
  });

  it('with the input of the tick that waits: that one runs with it, also when a deployment changes the manifest’s before it is admitted', async () => {
    await world.sync([{ externalId: job, schedule: everyMinute, input: { own: true } }]);
    await world.manage();
    expect(await ask({ input: { own: true } })).toMatchObject({ outcome: 'already_queued' });
    await world.sync([{ externalId: job, schedule: everyMinute, input: { own: 'changed' } }]);
    await world.dispatch();
    expect((await world.runs(job)).map(({ input }) => input)).toEqual([{ own: true }]);
  });

  it('with the same input: repeating it finds what it queued', async () => {
    const { queueEntryId } = await ask({ input: { asked: true } });
    expect(await ask({ input: { asked: true } })).toMatchObject({ outcome: 'already_queued', queueEntryId });
    await world.drain();
    expect(await ran()).toEqual([{ asked: true }]);
  });

  it('from a tick: without input it finds it', async () => {
    await world.sync([{ externalId: job, schedule: everyMinute }]);
    await world.manage();
    expect(await ask()).toMatchObject({ outcome: 'already_queued' });
    await expect(ask({ input: { asked: true } })).rejects.toMatchObject(conflict);
  });
});

describe('delayed triggers with input', () => {
  it('wait side by side, each for its own instant', async () => {
    await ask({ input: { late: true }, delaySeconds: 600 });
    await ask({ input: { soon: true }, delaySeconds: 300 });
    await ask({ input: { now: true } });
    await world.drain();
    expect(await ran()).toEqual([{ now: true }, { soon: true }, { late: true }]);
    expect(world.clock.now()).toEqual(at('00:10:00'));
  });

  it('are never brought forward: a trigger without input queues beside them', async () => {
    await ask({ input: { late: true }, delaySeconds: 600 });
    expect(await ask()).toMatchObject({ outcome: 'queued' });
    await world.drain();
    expect(await ran()).toEqual([{ own: true }, { late: true }]);
  });

  it('for the very same instant are refused rather than merged', async () => {
    await ask({ input: { first: true }, delaySeconds: 600 });
    await expect(ask({ input: { second: true }, delaySeconds: 600 })).rejects.toMatchObject(conflict);
  });
});

describe('a retry waits', () => {
  beforeEach(async () => {
    await ask({ input: { failing: true } });
    world.behaviour = fail;
    await world.cycle();
    world.behaviour = () => 'better';
  });

  it('without input it is brought forward', async () => {
    expect(await ask()).toMatchObject({ outcome: 'brought_forward' });
    await world.cycle();
    expect((await world.runs(job)).map(({ input, attempt }) => [input, attempt])).toEqual([
      [{ failing: true }, 1],
      [{ failing: true }, 2],
    ]);
    expect(world.clock.now()).toEqual(at('00:00:00'));
  });

  it('with input it queues behind the retry', async () => {
    expect(await ask({ input: { asked: true } })).toMatchObject({ outcome: 'queued' });
    await world.drain();
    expect(await ran()).toEqual([{ failing: true }, { failing: true }, { asked: true }]);
  });

  it('and a fresh entry too: without input the retry is brought forward and the other keeps its place', async () => {
    await ask({ input: { asked: true } });
    expect(await ask()).toMatchObject({ outcome: 'brought_forward' });
    await world.drain();
    expect(await ran()).toEqual([{ failing: true }, { failing: true }, { asked: true }]);
    expect(world.clock.now()).toEqual(at('00:00:00'));
  });
});

describe('it runs already', () => {
  beforeEach(async () => {
    await ask({ input: { running: true } });
    await world.dispatch();
  });

  it.each([[undefined], [{ asked: true }]])('with input %j it queues behind the run and says which', async (input) => {
    const [live] = await world.runs(job);
    expect(await ask({ input })).toMatchObject({ outcome: 'queued', behindExecutionId: String(live!.id) });
    expect(await world.dispatch()).toMatchObject({ admittedCount: 0 });
    await world.drain();
    expect(await ran()).toEqual([{ running: true }, input ?? { own: true }]);
  });

  it('a second one finds the first that queues behind', async () => {
    const { queueEntryId } = await ask();
    expect(await ask()).toMatchObject({ outcome: 'already_queued', queueEntryId });
    await world.drain();
    expect(await world.runs(job)).toHaveLength(2);
  });
});

describe('a rerun', () => {
  it('takes the fresh place with the input of the run it repeats', async () => {
    await ask({ input: { asked: true } });
    await world.drain();
    await rerun(world.context, String((await world.runs(job))[0]!.id));
    await world.drain();
    const [first, second] = await world.runs(job);
    expect(second).toMatchObject({ input: { asked: true }, attempt: 1, run_id: second!.id });
    expect(second!.run_id).not.toBe(first!.run_id);
  });

  it('is refused while the place is taken', async () => {
    await ask();
    await world.drain();
    const { queueEntryId } = await ask({ input: { asked: true } });
    const [first] = await world.runs(job);
    await expect(rerun(world.context, String(first!.id))).rejects.toMatchObject(conflict);
    await cancelEntry(world.context, queueEntryId);
    await rerun(world.context, String(first!.id));
    await world.drain();
    expect(await ran()).toEqual([{ own: true }, { own: true }]);
  });
});

describe('twenty at once', () => {
  it('without input queue one run, and all are told which', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => ask()));
    expect(new Set(answers.map(({ queueEntryId }) => queueEntryId)).size).toBe(1);
    expect(answers.filter(({ outcome }) => outcome === 'queued')).toHaveLength(1);
  });

  it('with different inputs queue one and refuse the others', async () => {
    const answers = await Promise.allSettled(Array.from({ length: 20 }, (_, index) => ask({ input: { index } })));
    expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const answer of answers) if (answer.status === 'rejected') expect(answer.reason).toMatchObject(conflict);
  });
});

it('a manifest that is not declared cannot be triggered', async () => {
  await expect(ask({ externalId: 'nobody' })).rejects.toMatchObject({ code: 'manifest_not_found' });
});
