import { describe, expect, it } from 'vitest';
import type { Database } from '../../shared/db/database.ts';
import { type PruneOptions, prune } from '../../shared/housekeeping/prune.ts';
import { lease } from '../operations/plant.ts';
import { daysAgo, failed, OLD, useHousekeeping } from './use-housekeeping.ts';

const { server, database, plant, run, left } = useHousekeeping(
  'execution',
  'execution_step',
  'execution_log',
  'dead_letter',
  'work_queue',
  'idempotency_key',
  'notification',
  'audit_event',
);

const old = { state: 'completed', finished_at: OLD, created_at: OLD };
const recent = { ...old, finished_at: daysAgo(1) };
const running = { state: 'in_progress', ...lease };

describe('a run that ended before the retention', () => {
  it('goes as a whole: all attempts, what ran below them, steps, logs, resolved dead letters and entries', async () => {
    const entry = await plant.entry({ status: 'dispatched', dispatched_at: OLD, created_at: OLD });
    const first = await plant.execution({ ...failed, work_queue_id: entry });
    const second = await plant.execution({ ...old, run_id: first, attempt: 2 });
    const child = await plant.execution({ ...old, run_id: first, root_id: second, parent_id: second });
    await plant.step({ execution_id: child, run_id: first, name: 'download' });
    await plant.deadLetter({ execution_id: first, run_id: first, status: 'acknowledged', resolved_at: OLD });
    await server.pool.query(
      `insert into waybill.execution_log (execution_id, run_id, logged_at, level, message) values ($1, $2, now(), 'info', 'said')`,
      [child, first],
    );
    expect(await run()).toMatchObject({ executionCount: 3, entryCount: 1, otherCount: 0 });
    for (const table of ['execution', 'execution_step', 'execution_log', 'dead_letter', 'work_queue'])
      expect(await left(table), table).toEqual([]);
  });

  it('goes although it belongs to a manifest that still runs', async () => {
    const manifestId = await plant.manifest('job');
    await plant.execution({ ...old, manifest_id: manifestId });
    const live = await plant.execution({ ...running, manifest_id: manifestId });
    await run();
    expect(await left('execution')).toEqual([live]);
  });
});

describe('a run stays as a whole', () => {
  it('while a dead letter of it awaits a person', async () => {
    const first = await plant.execution(failed);
    const second = await plant.execution({ ...failed, run_id: first, attempt: 2 });
    await plant.step({ execution_id: first, run_id: first, name: 'download' });
    await plant.deadLetter({ execution_id: second, run_id: first });
    expect(await run()).toMatchObject({ executionCount: 0, entryCount: 0, otherCount: 0 });
    expect(await left('execution')).toEqual([first, second]);
    expect(await left('execution_step')).toHaveLength(1);
    expect(await left('dead_letter')).toHaveLength(1);
  });

  it.each([
    ['an attempt of it is unfinished', running],
    ['an attempt of it ended recently', recent],
  ])('while %s', async (_, columns) => {
    const first = await plant.execution(failed);
    const second = await plant.execution({ ...columns, run_id: first, attempt: 2 });
    await run();
    expect(await left('execution')).toEqual([first, second]);
  });

  it.each([
    ['is unfinished', running],
    ['ended recently', recent],
  ])('while something below it %s, in whichever run that is', async (_, columns) => {
    const root = await plant.execution(old);
    const child = await plant.execution({ ...columns, parent_id: root, root_id: root, group_index: 0, position: 0, step_name: 'import' });
    await run();
    expect(await left('execution')).toEqual([root, child]);
  });

  it('while its next attempt is queued', async () => {
    const first = await plant.execution(failed);
    await plant.entry({ run_id: first, attempt: 2, lane: 'retry', created_at: OLD });
    await run();
    expect(await left('execution')).toEqual([first]);
    expect(await left('work_queue')).toHaveLength(1);
  });

  it.each([0, 1])('while somebody holds an attempt of it, whichever: %i', async (index) => {
    const first = await plant.execution(failed);
    const attempts = [first, await plant.execution({ ...old, run_id: first, attempt: 2 })];
    await plant.execution(old);
    await database.transaction(async (db) => {
      await db.query({ text: 'select from waybill.execution where id = $1 for key share', values: [attempts[index]] });
      await run();
    });
    expect(await left('execution')).toEqual(attempts);
  });
});

describe('pruning is bounded', () => {
  /** How many executions each transaction removed. */
  async function removals(options: Partial<PruneOptions>): Promise<number[]> {
    const counts = [(await left('execution')).length];
    const watched: Database = {
      ...database,
      transaction: async (work) => {
        const result = await database.transaction(work);
        counts.push((await left('execution')).length);
        return result;
      },
    };
    await prune(watched, { retentionDays: 90, ...options });
    return counts.slice(1).flatMap((count, index) => (counts[index] === count ? [] : [counts[index]! - count]));
  }

  it('to batches of whole runs that together have no more executions than a batch', async () => {
    for (let index = 0; index < 5; index++) {
      const root = await plant.execution(old);
      for (let child = 0; child < 3; child++) await plant.execution({ ...old, run_id: root, root_id: root, parent_id: root });
    }
    expect(await removals({ batchSize: 10 })).toEqual([8, 8, 4]);
  });

  it('but for a run that is larger than a batch, which goes alone', async () => {
    await plant.execution(old);
    const root = await plant.execution(old);
    for (let child = 0; child < 24; child++) await plant.execution({ ...old, run_id: root, root_id: root, parent_id: root });
    await plant.execution(old);
    expect(await removals({ batchSize: 10 })).toEqual([1, 25, 1]);
  });

  it('to batches in which steps and lines of logs count too, a tenth of an execution each', async () => {
    for (let index = 0; index < 5; index++) {
      const id = await plant.execution(old);
      await server.pool.query(
        `insert into waybill.execution_step (execution_id, run_id, name, sequence, state, started_at, finished_at)
         select $1, $1, n::text, n, 'completed', now(), now() from generate_series(1, 20) n`,
        [id],
      );
      await server.pool.query(
        `insert into waybill.execution_log (execution_id, run_id, logged_at, level, message) select $1, $1, now(), 'info', 'said' from generate_series(1, 15)`,
        [id],
      );
    }
    expect(await removals({ batchSize: 10 })).toEqual([2, 2, 1]);
    expect([await left('execution_step'), await left('execution_log')]).toEqual([[], []]);
  });

  it('by time: it stops after the batch under way, and goes on when it is called again', async () => {
    for (let index = 0; index < 25; index++) await plant.execution(old);
    expect(await run({ batchSize: 10, hasTime: () => false })).toMatchObject({ executionCount: 10 });
    expect(await run({ batchSize: 10 })).toMatchObject({ executionCount: 15 });
  });

  it('and is not starved by a thousand older runs that must stay', async () => {
    // They ended together, at an instant with microseconds, so that no cursor can tell them apart by time alone.
    await server.pool.query(
      `insert into waybill.execution (root_id, run_id, group_id, origin, initiator_type, state, failure_code, finished_at)
       select n, n, 1, 'manual', 'user', 'failed', 'thrown', date_trunc('milliseconds', now()) - interval '200 days' + interval '7 microseconds'
         from generate_series(1000001, 1001000) n`,
    );
    await server.pool.query('update waybill.execution set root_id = id, run_id = id');
    await server.pool.query(
      `insert into waybill.dead_letter (execution_id, run_id, input, reason, failed_count) select id, id, '{}', 'exhausted', 3 from waybill.execution`,
    );
    for (let index = 0; index < 25; index++) await plant.execution(old);
    expect(await run({ batchSize: 100 })).toMatchObject({ executionCount: 25 });
    expect(await left('execution')).toHaveLength(1_000);
  });

  it('however many prune at once, each row is counted once', async () => {
    for (let index = 0; index < 40; index++) await plant.execution(old);
    const reports = await Promise.all(Array.from({ length: 4 }, () => run({ batchSize: 5 })));
    const remaining = await run();
    expect([...reports, remaining].reduce((sum, { executionCount }) => sum + executionCount, 0)).toBe(40);
    expect(await left('execution')).toEqual([]);
  });
});

describe('other rows', () => {
  it('an entry goes when it is old, no longer queued, and without its execution', async () => {
    const cancelled = { status: 'cancelled', cancelled_at: OLD };
    await plant.entry({ ...cancelled, created_at: OLD });
    const young = await plant.entry({ ...cancelled, created_at: daysAgo(89) });
    const queued = await plant.entry({ created_at: OLD });
    const kept = await plant.entry({ status: 'dispatched', dispatched_at: OLD, created_at: OLD });
    await plant.execution({ ...recent, work_queue_id: kept });
    expect(await run()).toMatchObject({ entryCount: 1 });
    expect(await left('work_queue')).toEqual([young, queued, kept]);
  });

  it('keys go after a day, notifications when they were sent, audit events with the retention', async () => {
    await server.pool.query(
      `insert into waybill.idempotency_key (key, request_hash, response, created_at) values ('old', 'h', '{}', $1), ('young', 'h', '{}', $2)`,
      [daysAgo(1.1), daysAgo(0.9)],
    );
    await server.pool.query(
      `insert into waybill.notification (kind, payload, created_at, sent_at) values ('failed', '{"n":1}', $1, $1), ('failed', '{"n":2}', $1, null), ('failed', '{"n":3}', now(), now())`,
      [OLD],
    );
    await server.pool.query(
      `insert into waybill.audit_event (occurred_at, initiator_type, action, target_type, target) values ($1, 'user', 'enable', 'manifest', 'old'), (now(), 'user', 'enable', 'manifest', 'young')`,
      [OLD],
    );
    expect(await run({ batchSize: 1 })).toMatchObject({ otherCount: 3 });
    const { rows } = await server.pool.query(`
      select key as name from waybill.idempotency_key union all select payload ->> 'n' from waybill.notification union all select target from waybill.audit_event`);
    expect(rows.map(({ name }) => name).sort()).toEqual(['2', '3', 'young', 'young']);
  });
});
