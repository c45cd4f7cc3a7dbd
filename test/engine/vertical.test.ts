import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { sql } from '../../shared/db/sql.ts';
import { claimExecutions } from '../../shared/executor/claim-executions.ts';
import type { ExecutionId } from '../../shared/model/ids.ts';
import { pools, START, useFreshEngine, workflowNamed } from '../support/engine.ts';

const engine = useFreshEngine();

const manifest = async (externalId: string) => {
  const [row] = await engine.rows<Record<string, unknown>>(
    sql`select * from waybill.manifest where external_id = ${externalId} and deleted_at is null`,
  );
  return row!;
};
const executions = () => engine.rows<Record<string, unknown>>(sql`select * from waybill.execution order by id`);
const entries = () => engine.rows<Record<string, unknown>>(sql`select * from waybill.work_queue order by id`);

async function cycle(run?: () => unknown) {
  await engine.manage();
  await engine.dispatch();
  return engine.deliver([workflowNamed('work', run)]);
}

describe('from due to recorded', () => {
  it('runs an interval manifest at once and then at its fixed rate', async () => {
    await engine.sync([{ externalId: 'job' }]);
    await cycle();
    expect(await manifest('job')).toMatchObject({ success_count: 1, last_successful_run: new Date(START), failed_count: 0 });
    engine.clock.advance(59);
    await cycle();
    expect(await executions()).toHaveLength(1);
    engine.clock.advance(1);
    await cycle();
    expect((await executions()).map(({ state, occurrence_at }) => [state, occurrence_at])).toEqual([
      ['completed', new Date(START)],
      ['completed', new Date('2026-03-02T00:01:00Z')],
    ]);
  });

  it('runs a cron manifest first at its first occurrence after registration', async () => {
    await engine.sync([{ externalId: 'daily', schedule: { type: 'cron', expression: '0 2 * * *', timeZone: 'Europe/London' } }]);
    await cycle();
    expect(await executions()).toHaveLength(0);
    engine.clock.set('2026-03-02T02:00:00Z');
    await cycle();
    expect(await executions()).toMatchObject([{ state: 'completed', occurrence_at: new Date('2026-03-02T02:00:00Z') }]);
    expect(await manifest('daily')).toMatchObject({ next_occurrence_at: new Date('2026-03-03T02:00:00Z') });
  });

  it('gives the workflow its input, attempt, occurrence and the same idempotency key in every attempt', async () => {
    await engine.sync([{ externalId: 'job', input: { a: 1 }, backoff: { jitter: 0 } }]);
    const seen: unknown[] = [];
    const work = workflowNamed('work', (ctx, input) => {
      seen.push([ctx.idempotencyKey, ctx.attempt, ctx.occurrenceAt, input]);
      if (ctx.attempt === 1) throw new Error('not yet');
      return { done: true };
    });
    await engine.manage();
    await engine.dispatch();
    await engine.deliver([work]);
    engine.clock.advance(10);
    await engine.dispatch();
    await engine.deliver([work]);
    const [first] = await executions();
    const key = `waybill-run-${first!.id}`;
    expect(seen).toEqual([
      [key, 1, new Date(START), { a: 1 }],
      [key, 2, new Date(START), { a: 1 }],
    ]);
    expect(await executions()).toMatchObject([
      { state: 'failed', attempt: 1, failure_code: 'thrown', failure_message: 'not yet' },
      { state: 'completed', attempt: 2, output: { done: true }, run_id: first!.id },
    ]);
    expect(await manifest('job')).toMatchObject({ failed_count: 0, success_count: 1 });
  });

  it('queues an occurrence once when twenty managers run at once', async () => {
    await engine.sync(Array.from({ length: 50 }, (_, index) => ({ externalId: `job-${index}` })));
    const cycles = await Promise.all(Array.from({ length: 20 }, () => engine.manage()));
    expect(cycles.filter(({ isLeader }) => isLeader).length).toBeGreaterThan(0);
    expect(await entries()).toHaveLength(50);
  });

  it('takes a due batch that is larger than one round', async () => {
    await engine.sync(Array.from({ length: 1_100 }, (_, index) => ({ externalId: `job-${index}` })));
    expect(await engine.manage()).toMatchObject({ dueCount: 1_100, queuedCount: 1_100 });
  });
});

describe('overlap and disabled groups', () => {
  it('skips a tick whose manifest is still running, and says so', async () => {
    await engine.sync([{ externalId: 'job' }]);
    await engine.manage();
    await engine.dispatch();
    engine.clock.advance(60);
    await engine.manage();
    expect(await manifest('job')).toMatchObject({
      last_skip_reason: 'overlap',
      skip_count: 1,
      next_occurrence_at: new Date('2026-03-02T00:02:00Z'),
    });
    expect(await entries()).toHaveLength(1);
  });

  it('skips the ticks of a disabled group', async () => {
    await engine.sync([{ externalId: 'job', group: 'etl' }]);
    await engine.database.query(sql`update waybill.manifest_group set is_enabled = false`);
    await cycle();
    expect(await entries()).toHaveLength(0);
    expect(await manifest('job')).toMatchObject({ last_skip_reason: 'group_disabled' });
  });

  it('fires once for all the occurrences that were missed', async () => {
    await engine.sync([{ externalId: 'job' }]);
    engine.clock.advance(3_630);
    await engine.manage();
    expect(await entries()).toHaveLength(1);
    expect(await manifest('job')).toMatchObject({ next_occurrence_at: new Date('2026-03-02T01:01:00Z') });
  });
});

describe('the dispatcher', () => {
  it('never exceeds a group’s capacity with eight dispatchers at once', async () => {
    await engine.sync(Array.from({ length: 40 }, (_, index) => ({ externalId: `job-${index}`, group: 'etl' })));
    await engine.database.query(sql`update waybill.manifest_group set max_active_jobs = 4`);
    await engine.manage();
    await Promise.all(Array.from({ length: 8 }, () => engine.dispatch()));
    expect(await executions()).toHaveLength(4);
  });

  it('never exceeds the global capacity over several groups', async () => {
    await engine.sync(Array.from({ length: 20 }, (_, index) => ({ externalId: `job-${index}` })));
    await engine.database.query(sql`update waybill.capacity set max_active_jobs = 3`);
    await engine.manage();
    await Promise.all(Array.from({ length: 8 }, () => engine.dispatch()));
    expect(await executions()).toHaveLength(3);
  });

  it('admits nothing while everything is paused', async () => {
    await engine.sync([{ externalId: 'job' }]);
    await engine.database.query(sql`update waybill.capacity set is_paused = true`);
    await engine.manage();
    expect(await engine.dispatch()).toMatchObject({ admittedCount: 0, rungCount: 0 });
  });

  it('admits the higher priority first', async () => {
    await engine.sync([
      { externalId: 'low', group: 'etl', priority: 0 },
      { externalId: 'high', group: 'etl', priority: 9 },
    ]);
    await engine.database.query(sql`update waybill.manifest_group set max_active_jobs = 1`);
    await engine.manage();
    await engine.dispatch();
    const [admitted] = await executions();
    expect(admitted!.manifest_id).toBe((await manifest('high')).id);
  });

  it('does not admit an entry whose pool does not exist', async () => {
    await engine.sync([{ externalId: 'job', pool: 'elsewhere' }]);
    await engine.manage();
    expect(await engine.dispatch()).toMatchObject({ admittedCount: 0 });
    expect(await entries()).toMatchObject([{ status: 'queued' }]);
  });

  it('takes the input that the manifest has at admission', async () => {
    await engine.sync([{ externalId: 'job', input: { version: 1 } }]);
    await engine.manage();
    await engine.sync([{ externalId: 'job', input: { version: 2 } }]);
    await engine.dispatch();
    expect(await executions()).toMatchObject([{ input: { version: 2 } }]);
  });
});

describe('failure', () => {
  it('retries with exponential backoff and dead-letters at the last attempt, with the failing input', async () => {
    await engine.sync([{ externalId: 'job', input: { a: 1 }, maxAttempts: 3, backoff: { initialSeconds: 5, factor: 3, jitter: 0 } }]);
    const fail = () => {
      throw new Error('no');
    };
    await cycle(fail);
    expect(await entries()).toMatchObject([{}, { lane: 'retry', attempt: 2, available_at: new Date('2026-03-02T00:00:05Z') }]);
    engine.clock.advance(5);
    await cycle(fail);
    engine.clock.advance(15);
    await cycle(fail);
    expect(await engine.rows(sql`select * from waybill.dead_letter`)).toMatchObject([
      { status: 'awaiting_intervention', reason: 'exhausted', failed_count: 3, input: { a: 1 }, message: 'no' },
    ]);
    engine.clock.advance(600);
    await cycle(fail);
    expect(await executions()).toHaveLength(3);
    expect(await manifest('job')).toMatchObject({ last_skip_reason: 'dead_letter', next_due_at: null });
  });

  it('dead-letters an invalid input at once', async () => {
    await engine.sync([{ externalId: 'job' }]);
    await engine.manage();
    await engine.dispatch();
    const picky = {
      ...workflowNamed('work'),
      input: { '~standard': { version: 1 as const, vendor: 't', validate: () => ({ issues: [{ message: 'wrong', path: ['a'] }] }) } },
    };
    await engine.deliver([picky]);
    expect(await engine.rows(sql`select reason, message from waybill.dead_letter`)).toEqual([
      { reason: 'invalid_input', message: 'the input is invalid: a: wrong' },
    ]);
  });

  it.each([
    ['undefined', () => Promise.reject(undefined), 'undefined'],
    ['a string', () => Promise.reject('plain'), 'plain'],
    ['an error with a NUL', () => Promise.reject(new Error('a\u0000b')), 'a\uFFFDb'],
  ])('records a failure when the workflow throws %s', async (_, run, message) => {
    await engine.sync([{ externalId: 'job' }]);
    await cycle(run);
    expect(await executions()).toMatchObject([{ state: 'failed', failure_message: message }]);
  });

  it.each([
    [
      'cyclic',
      () => {
        const value: Record<string, unknown> = {};
        value.self = value;
        return value;
      },
      'it is not JSON',
    ],
    ['a NUL character', () => 'a\u0000', 'u0000'],
    ['too large', () => 'x'.repeat(300_000), 'at most 262144'],
  ])('records a failure when the output is %s', async (_, run, message) => {
    await engine.sync([{ externalId: 'job' }]);
    await cycle(run);
    expect(await executions()).toMatchObject([
      { state: 'failed', failure_code: 'invalid_output', failure_message: expect.stringContaining(message) },
    ]);
  });

  it('hands a run of an unknown workflow back without counting an attempt', async () => {
    await engine.sync([{ externalId: 'job' }]);
    await engine.manage();
    await engine.dispatch();
    await engine.deliver([workflowNamed('other')]);
    expect(await executions()).toMatchObject([{ state: 'pending', attempt: 1, unknown_since_at: new Date(START) }]);
  });
});

describe('crashes', () => {
  it('an execution whose bell was never sent is rung again, and starts once however often it is delivered', async () => {
    await engine.sync([{ externalId: 'job' }]);
    await engine.manage();
    await engine.dispatch();
    await engine.database.query(sql`update waybill.execution set sent_at = null, ring_count = 0`);
    engine.doorbell.bells.length = 0;
    engine.clock.advance(31);
    await engine.manage();
    const ids = engine.doorbell.bells.map(({ executionId }) => executionId);
    expect(ids).toHaveLength(1);
    let starts = 0;
    const work = workflowNamed('work', () => ++starts);
    await Promise.all(Array.from({ length: 5 }, () => engine.execute(ids, [work])));
    expect(starts).toBe(1);
    expect(await executions()).toMatchObject([{ state: 'completed' }]);
  });

  it('a run whose executor died is failed and retried once its lease has expired', async () => {
    await engine.sync([{ externalId: 'job', backoff: { jitter: 0 } }]);
    await engine.manage();
    await engine.dispatch();
    const id = engine.doorbell.bells[0]!.executionId;
    await claimExecutions(engine.database, { ids: [id], leaseToken: randomUUID(), leaseSeconds: 45, requestId: 'r', logStream: 'l' });
    engine.clock.advance(44);
    expect(await engine.manage()).toMatchObject({ recoveredCount: 0 });
    engine.clock.advance(2);
    expect(await engine.manage()).toMatchObject({ recoveredCount: 1 });
    expect(await executions()).toMatchObject([{ state: 'failed', failure_code: 'lease_lost' }]);
    expect(await entries()).toMatchObject([{ status: 'dispatched' }, { status: 'queued', lane: 'retry', attempt: 2 }]);
  });

  it('refuses the late outcome of an executor that was given up', async () => {
    await engine.sync([{ externalId: 'job' }]);
    await engine.manage();
    await engine.dispatch();
    const ended = await engine.deliver([
      workflowNamed('work', async () => {
        engine.clock.advance(46);
        await engine.manage();
        return { late: true };
      }),
    ]);
    expect(ended).toEqual([]);
    expect(await executions()).toMatchObject([{ state: 'failed', failure_code: 'lease_lost', output: null }]);
  });

  it('a run that dies with its cancellation requested ends cancelled and is not retried', async () => {
    await engine.sync([{ externalId: 'job' }]);
    await engine.manage();
    await engine.dispatch();
    const id = engine.doorbell.bells[0]!.executionId;
    await claimExecutions(engine.database, { ids: [id], leaseToken: randomUUID(), leaseSeconds: 45, requestId: 'r', logStream: 'l' });
    await engine.database.query(sql`update waybill.execution set cancel_requested_at = waybill.now()`);
    engine.clock.advance(46);
    await engine.manage();
    expect(await executions()).toMatchObject([{ state: 'cancelled' }]);
    expect(await entries()).toHaveLength(1);
  });
});

describe('wake-ups', () => {
  it('arms a wake for what is due before the next heartbeat, once', async () => {
    await engine.sync([{ externalId: 'job', schedule: { type: 'interval', intervalSeconds: 10, anchor: 'occurrence' } }]);
    await engine.manage();
    await engine.manage();
    expect(engine.doorbell.managerPokes).toEqual([{ delaySeconds: 10, generation: 1 }]);
    engine.clock.advance(10);
    await engine.manage();
    expect(engine.doorbell.managerPokes).toHaveLength(2);
  });

  it('pokes the dispatcher whenever work is waiting, even if another cycle queued it', async () => {
    await engine.sync([{ externalId: 'job' }]);
    await engine.manage();
    await engine.manage();
    expect(engine.doorbell.dispatcherPokes).toBe(2);
  });
});

it('a pool with many queued entries admits only what its executors can soon take', async () => {
  await engine.sync(Array.from({ length: 250 }, (_, index) => ({ externalId: `job-${index}` })));
  await engine.manage();
  await engine.dispatch();
  expect(await executions()).toHaveLength(2 * pools.default.concurrency);
});

it('acknowledges a bell for an execution that does not exist', async () => {
  expect(await engine.execute([999_999 as ExecutionId])).toEqual([]);
});
