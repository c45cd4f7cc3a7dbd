import { beforeEach, describe, expect, it } from 'vitest';
import { sql } from '../../shared/db/sql.ts';
import { acknowledgeDeadLetter, retryDeadLetter } from '../../shared/operations/resolve-dead-letter.ts';
import { trigger } from '../../shared/operations/trigger.ts';
import { everyMinute, fail, following, none, useWorld } from './use-world.ts';

const world = useWorld();
const { at } = world;
const job = 'job';
const inputs = async () => (await world.runs(job)).map(({ input }) => input);
const letter = async () => (await world.awaiting(job)).id;

/** A dead letter of a run with the input `{ failing: true }`. */
beforeEach(async () => {
  await world.sync([{ externalId: job, schedule: none, maxAttempts: 1 }]);
  await trigger(world.context, { externalId: job, input: { failing: true } });
  world.behaviour = fail;
  await world.drain();
  world.behaviour = () => 'better';
});

describe('while it awaits a person', () => {
  it('a trigger is taken, waits, and runs once it is resolved', async () => {
    await trigger(world.context, { externalId: job });
    await world.drain();
    expect(await world.runs(job)).toHaveLength(1);
    await acknowledgeDeadLetter(world.context, await letter());
    await world.drain();
    expect(await inputs()).toEqual([{ failing: true }, {}]);
  });

  it('nothing that is queued already is admitted', async () => {
    await world.sync([{ externalId: job, schedule: everyMinute, maxAttempts: 1 }]);
    await world.drain();
    expect(await world.manifest(job)).toMatchObject({ last_skip_reason: 'dead_letter', next_due_at: null });
    await world.database.query(sql`
      insert into waybill.work_queue (workflow_name, manifest_id, group_id, origin, lane, initiator_type)
      select workflow_name, id, group_id, 'activation', 'fresh', 'execution' from waybill.manifest`);
    expect(await world.dispatch()).toMatchObject({ admittedCount: 0 });
  });
});

describe('retried', () => {
  it('is the next attempt of the same run, with the input that failed, before anything else that waits', async () => {
    await trigger(world.context, { externalId: job, input: { waiting: true } });
    await retryDeadLetter(world.context, await letter());
    await world.drain();
    const [first, second, third] = await world.runs(job);
    expect(second).toMatchObject({ input: { failing: true }, attempt: 2, run_id: first!.id, origin: 'dead_letter', state: 'completed' });
    expect(third).toMatchObject({ input: { waiting: true }, attempt: 1 });
  });

  it('with an edited input is a new run', async () => {
    await retryDeadLetter(world.context, await letter(), { input: { mended: true } });
    await world.drain();
    const [, second] = await world.runs(job);
    expect(second).toMatchObject({ input: { mended: true }, attempt: 1, run_id: second!.id });
  });

  it('and failing again it is a dead letter again', async () => {
    const first = await letter();
    await retryDeadLetter(world.context, first);
    world.behaviour = fail;
    await world.drain();
    expect(await letter()).not.toBe(first);
    await retryDeadLetter(world.context, await letter());
    world.behaviour = () => 'better';
    await world.drain();
    expect((await world.runs(job)).map(({ state, attempt }) => [state, attempt])).toEqual([
      ['failed', 1],
      ['failed', 2],
      ['completed', 3],
    ]);
  });

  it('goes by the timeout, the backoff and the attempts that its manifest has by then', async () => {
    const backoff = { initialSeconds: 7, factor: 3, maxSeconds: 70, jitter: 0 };
    await world.sync([{ externalId: job, schedule: none, maxAttempts: 2, timeoutSeconds: 600, backoff }]);
    await retryDeadLetter(world.context, await letter());
    await world.dispatch();
    expect((await world.runs(job)).at(-1)).toMatchObject({
      attempt: 2,
      max_attempts: 2,
      timeout_seconds: 600,
      backoff_initial_seconds: 7,
      backoff_factor: 3,
      backoff_max_seconds: 70,
      backoff_jitter: 0,
    });
  });

  it('is refused when the manifest is no longer declared, and the dead letter can still be acknowledged', async () => {
    await world.sync([{ externalId: 'other', schedule: none }]);
    const id = await letter();
    await expect(retryDeadLetter(world.context, id)).rejects.toMatchObject({ code: 'manifest_deleted' });
    await acknowledgeDeadLetter(world.context, id);
    await world.drain();
    expect(await world.runs(job)).toHaveLength(1);
  });
});

describe('acknowledged', () => {
  it('gives the run up, with the note and who said so', async () => {
    await acknowledgeDeadLetter(world.context, await letter(), { note: 'known outage' });
    await world.drain();
    expect(await world.runs(job)).toHaveLength(1);
    expect(await world.rows(sql`select status, resolution_note, resolved_by_name from waybill.dead_letter`)).toEqual([
      { status: 'acknowledged', resolution_note: 'known outage', resolved_by_name: 'Ada' },
    ]);
  });

  it('lets a schedule go on', async () => {
    await world.sync([{ externalId: job, schedule: everyMinute, maxAttempts: 1 }]);
    await world.drain();
    await acknowledgeDeadLetter(world.context, await letter());
    await world.drain();
    expect((await world.runs(job)).slice(1)).toMatchObject([{ origin: 'schedule', state: 'completed' }]);
    expect(await world.manifest(job)).toMatchObject({ next_due_at: at('00:01:00') });
  });
});

describe('resolved by two at once', () => {
  it('one of them is told that the other was first', async () => {
    const id = await letter();
    const answers = await Promise.allSettled([retryDeadLetter(world.context, id), acknowledgeDeadLetter(world.context, id)]);
    expect(answers.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(answers.find(({ status }) => status === 'rejected')).toMatchObject({ reason: { code: 'already_resolved' } });
  });
});

describe('of a dependent', () => {
  const child = 'child';
  beforeEach(async () => {
    await world.sync([
      { externalId: job, schedule: none, maxAttempts: 1 },
      { externalId: child, schedule: following(job), maxAttempts: 1 },
    ]);
    await retryDeadLetter(world.context, await letter());
    world.behaviour = ({ execution }) => (execution.manifest === child ? fail({} as never, null) : 'better');
    await world.drain();
    world.behaviour = () => 'better';
  });
  const succeedAgain = async () => {
    await trigger(world.context, { externalId: job });
    await world.drain();
  };

  it('acknowledged, the successes it was for count as consumed', async () => {
    await acknowledgeDeadLetter(world.context, (await world.awaiting(child)).id);
    await world.drain();
    expect(await world.runs(child)).toHaveLength(1);
    await succeedAgain();
    expect(await world.runs(child)).toHaveLength(2);
  });

  it('acknowledged after its parent succeeded again, it runs for the later success', async () => {
    await succeedAgain();
    expect(await world.runs(child)).toHaveLength(1);
    await acknowledgeDeadLetter(world.context, (await world.awaiting(child)).id);
    await world.drain();
    expect(await world.runs(child)).toMatchObject([{ state: 'failed' }, { state: 'completed', origin: 'dependency' }]);
  });

  it('retried after its parent succeeded again, it runs for the one it failed for and then for the later one', async () => {
    await succeedAgain();
    await retryDeadLetter(world.context, (await world.awaiting(child)).id);
    await world.drain();
    expect((await world.runs(child)).map(({ origin, state }) => [origin, state])).toEqual([
      ['dependency', 'failed'],
      ['dead_letter', 'completed'],
      ['dependency', 'completed'],
    ]);
  });
});
