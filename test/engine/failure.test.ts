import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { sql } from '../../shared/db/sql.ts';
import { NonRetryableError } from '../../shared/errors.ts';
import { claimExecutions } from '../../shared/executor/claim-executions.ts';
import type { ExecutionId } from '../../shared/model/ids.ts';
import { cancelEntry } from '../../shared/operations/cancel-entry.ts';
import { acknowledgeDeadLetter, retryDeadLetter } from '../../shared/operations/resolve-dead-letter.ts';
import { runWorkflow } from '../../shared/operations/run-workflow.ts';
import { trigger } from '../../shared/operations/trigger.ts';
import { workflowNamed } from '../support/engine.ts';
import { cronAt, everyMinute, fail, none, useWorld } from './use-world.ts';

const world = useWorld();
const { at } = world;
const job = 'job';
const steady = { initialSeconds: 10, factor: 2, jitter: 0 };

describe('a retry', () => {
  it('belongs to the same run, for the same occurrence, with the same input', async () => {
    await world.sync([{ externalId: job, schedule: cronAt('0 * * * *'), input: { version: 1 } }]);
    world.behaviour = ({ attempt }) => (attempt === 1 ? fail({} as never, null) : 'done');
    world.clock.set(at('01:00:00'));
    await world.cycle();
    await world.sync([{ externalId: job, schedule: cronAt('0 * * * *'), input: { version: 2 } }]);
    await world.drain();
    const [first, second] = await world.runs(job);
    expect(first).toMatchObject({ state: 'failed', attempt: 1, run_id: first!.id });
    expect(second).toMatchObject({
      state: 'completed',
      attempt: 2,
      run_id: first!.id,
      occurrence_at: at('01:00:00'),
      input: { version: 1 },
      origin: 'retry',
    });
  });

  it('waits exponentially longer, up to the ceiling', async () => {
    await world.sync([{ externalId: job, schedule: none, maxAttempts: 6, backoff: { ...steady, maxSeconds: 50 } }]);
    await trigger(world.context, { externalId: job });
    world.behaviour = fail;
    await world.drain();
    const waits = await world.rows<{ seconds: number }>(sql`
      select extract(epoch from available_at - created_at)::int as seconds from waybill.work_queue where lane = 'retry' order by id`);
    expect(waits.map(({ seconds }) => seconds)).toEqual([10, 20, 40, 50, 50]);
  });

  it('varies by no more than its jitter, so that what failed together does not come back together', async () => {
    await world.sync(
      Array.from({ length: 30 }, (_, index) => ({ externalId: `job-${index}`, backoff: { initialSeconds: 100, jitter: 0.2 } })),
    );
    world.behaviour = fail;
    await world.cycle();
    const waits = await world.rows<{ seconds: number }>(sql`
      select extract(epoch from available_at - created_at)::float8 as seconds from waybill.work_queue where lane = 'retry'`);
    const seconds = waits.map((wait) => wait.seconds);
    expect(Math.min(...seconds)).toBeGreaterThanOrEqual(80);
    expect(Math.max(...seconds)).toBeLessThanOrEqual(120);
    expect(new Set(seconds.map(Math.round)).size).toBeGreaterThan(5);
  });

  it('keeps every other entry of its manifest back, available or not', async () => {
    await world.sync([{ externalId: job, schedule: none, backoff: steady }]);
    await trigger(world.context, { externalId: job });
    world.behaviour = fail;
    await world.cycle();
    await trigger(world.context, { externalId: job, input: { later: true } });
    expect(await world.dispatch()).toMatchObject({ admittedCount: 0 });
    world.behaviour = () => 'better';
    await world.drain();
    expect((await world.runs(job)).map(({ input, attempt }) => [input, attempt])).toEqual([
      [{}, 1],
      [{}, 2],
      [{ later: true }, 1],
    ]);
  });
});

describe('the count of failures', () => {
  const failing = async (times: number) => {
    world.behaviour = fail;
    for (let count = 0; count < times; count++) {
      await world.cycle();
      world.clock.advance(3_600);
    }
  };
  const declare = (maxAttempts = 3) => world.sync([{ externalId: job, schedule: none, maxAttempts, backoff: steady }]);

  it('at which a manifest is dead-lettered is its maxAttempts', async () => {
    await declare(2);
    await trigger(world.context, { externalId: job });
    await failing(1);
    expect(await world.manifest(job)).toMatchObject({ failed_count: 1 });
    await failing(1);
    expect(await world.awaiting(job)).toMatchObject({ reason: 'exhausted', failed_count: 2 });
    await world.drain();
    expect(await world.runs(job)).toHaveLength(2);
  });

  it('begins anew after a success', async () => {
    await declare();
    await trigger(world.context, { externalId: job });
    await failing(2);
    world.behaviour = () => 'better';
    await world.drain();
    expect(await world.manifest(job)).toMatchObject({ failed_count: 0, success_count: 1 });
  });

  it('begins anew after the waiting retry was cancelled', async () => {
    await declare();
    await trigger(world.context, { externalId: job });
    await failing(2);
    await cancelEntry(world.context, String((await world.entries(job)).at(-1)!.id));
    expect(await world.manifest(job)).toMatchObject({ failed_count: 0 });
    await world.drain();
    expect(await world.runs(job)).toHaveLength(2);
  });

  it('is not touched by the cancellation of an entry that is not the retry', async () => {
    await declare();
    await trigger(world.context, { externalId: job });
    await failing(2);
    const { queueEntryId } = await trigger(world.context, { externalId: job, input: { other: true } });
    await cancelEntry(world.context, queueEntryId);
    expect(await world.manifest(job)).toMatchObject({ failed_count: 2 });
  });

  it('begins anew after a dead letter was resolved: there are as many attempts as at first', async () => {
    await declare(2);
    await trigger(world.context, { externalId: job });
    await failing(2);
    await retryDeadLetter(world.context, (await world.awaiting(job)).id);
    await failing(1);
    expect(await world.manifest(job)).toMatchObject({ failed_count: 1 });
    await failing(1);
    expect(await world.awaiting(job)).toMatchObject({ failed_count: 2 });
    expect((await world.runs(job)).map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4]);
  });
});

describe('attempts that are lowered below what has failed already', () => {
  const lower = () => world.sync([{ externalId: job, schedule: none, maxAttempts: 1, backoff: steady }]);
  const failOnce = async () => {
    await world.sync([{ externalId: job, schedule: none, maxAttempts: 3, backoff: steady }]);
    await trigger(world.context, { externalId: job, input: { a: 1 } });
    world.behaviour = fail;
    await world.cycle();
  };

  it('dead-letter the manifest in the next cycle instead of its retry, and the dead letter can be retried', async () => {
    await failOnce();
    await lower();
    await world.drain();
    expect(await world.runs(job)).toHaveLength(1);
    const { id, ...letter } = await world.awaiting(job);
    expect(letter).toMatchObject({ reason: 'exhausted', failed_count: 1, input: { a: 1 } });
    world.behaviour = () => 'better';
    await retryDeadLetter(world.context, id);
    await world.drain();
    expect(await world.runs(job)).toMatchObject([{ state: 'failed' }, { state: 'completed', attempt: 2, input: { a: 1 } }]);
  });

  it('give the run up when that dead letter is acknowledged', async () => {
    await failOnce();
    await lower();
    await world.drain();
    await acknowledgeDeadLetter(world.context, (await world.awaiting(job)).id);
    await world.drain();
    expect(await world.runs(job)).toHaveLength(1);
  });

  it('let an attempt that is under way decide by itself', async () => {
    await failOnce();
    world.clock.advance(10);
    await world.dispatch();
    await lower();
    await world.manage();
    expect(await world.rows(sql`select from waybill.dead_letter`)).toEqual([]);
    world.behaviour = () => 'better';
    await world.drain();
    expect(await world.manifest(job)).toMatchObject({ failed_count: 0, success_count: 1 });
    expect(await world.rows(sql`select from waybill.dead_letter`)).toEqual([]);
  });
});

describe('many manifests whose attempts are lowered while one is under way', () => {
  it('do not keep the one waiting that has nothing under way', async () => {
    const busy = Array.from({ length: 100 }, (_, index) => ({ externalId: `busy-${index}`, schedule: everyMinute }));
    await world.sync(busy);
    await world.manage();
    await world.dispatch();
    await world.sync([...busy, { externalId: job, schedule: none, backoff: steady }]);
    await trigger(world.context, { externalId: job });
    await world.dispatch();
    world.behaviour = fail;
    const id = (await world.runs(job))[0]!.id as ExecutionId;
    await world.execute([id]);
    await world.database.query(sql`update waybill.manifest set max_attempts = 1, failed_count = 1`);
    await world.manage();
    expect(await world.awaiting(job)).toMatchObject({ failed_count: 1 });
    expect(await world.rows(sql`select from waybill.dead_letter`)).toHaveLength(1);
  });
});

describe('a failure that no attempt can mend', () => {
  it('is dead-lettered at once when the workflow says so', async () => {
    await world.sync([{ externalId: job }]);
    world.behaviour = () => {
      throw new NonRetryableError('the account is closed');
    };
    await world.cycle();
    expect(await world.awaiting(job)).toMatchObject({ reason: 'non_retryable', failed_count: 1 });
    expect(await world.entries(job)).toHaveLength(1);
  });

  it('is an unknown workflow, after ten minutes in which it was handed back without counting an attempt', async () => {
    await world.sync([{ externalId: job, schedule: none }]);
    await trigger(world.context, { externalId: job });
    const strangers = [workflowNamed('other')];
    await world.dispatch();
    for (let minutes = 0; minutes < 10; minutes += 2) {
      await world.deliver(strangers);
      expect(await world.runs(job)).toMatchObject([{ state: 'pending', attempt: 1 }]);
      world.clock.advance(120);
      await world.manage();
    }
    await world.deliver(strangers);
    expect(await world.awaiting(job)).toMatchObject({ reason: 'unknown_workflow' });
  });

  it('is a bell that nobody answers ten times', async () => {
    await world.sync([{ externalId: job, schedule: none }]);
    await trigger(world.context, { externalId: job });
    await world.dispatch();
    for (let rings = 1; rings < 10; rings++) {
      world.clock.advance(301);
      await world.manage();
    }
    expect(await world.runs(job)).toMatchObject([{ state: 'pending', ring_count: 10 }]);
    world.clock.advance(301);
    await world.manage();
    expect(await world.runs(job)).toMatchObject([{ state: 'failed', failure_code: 'never_started' }]);
    expect(await world.awaiting(job)).toMatchObject({ reason: 'never_started' });
  });
});

describe('a lost lease', () => {
  const lose = async () => {
    await world.dispatch();
    const ids = world.doorbell.bells.splice(0).map(({ executionId }) => executionId);
    await claimExecutions(world.database, { ids, leaseToken: randomUUID(), leaseSeconds: 45, requestId: randomUUID(), logStream: 'l' });
    world.clock.advance(46);
    await world.manage();
    world.clock.advance(3_600);
  };

  it('is a failure like any other, up to the dead letter', async () => {
    await world.sync([{ externalId: job, schedule: none, maxAttempts: 2, backoff: steady }]);
    await trigger(world.context, { externalId: job });
    await lose();
    expect(await world.manifest(job)).toMatchObject({ failed_count: 1 });
    await lose();
    expect(await world.runs(job)).toMatchObject([{ failure_code: 'lease_lost' }, { failure_code: 'lease_lost', attempt: 2 }]);
    expect(await world.awaiting(job)).toMatchObject({ reason: 'exhausted' });
  });
});

describe('an ad-hoc run', () => {
  it('fails once unless it carries attempts of its own', async () => {
    await world.sync([{ externalId: job, schedule: none }]);
    world.behaviour = fail;
    await runWorkflow(world.context, { workflow: 'work', input: { once: true } });
    await runWorkflow(world.context, { workflow: 'work', input: { twice: true }, maxAttempts: 2 });
    await world.drain();
    const runs = await world.rows(sql`select input, attempt from waybill.execution order by run_id, attempt`);
    expect(runs).toEqual([
      { input: { once: true }, attempt: 1 },
      { input: { twice: true }, attempt: 1 },
      { input: { twice: true }, attempt: 2 },
    ]);
    expect(await world.rows(sql`select input from waybill.dead_letter order by id`)).toEqual([
      { input: { once: true } },
      { input: { twice: true } },
    ]);
  });
});
