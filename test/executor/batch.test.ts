import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { openDatabase } from '../../shared/db/database.ts';
import { claimExecutions } from '../../shared/executor/claim-executions.ts';
import type { ExecutionId } from '../../shared/model/ids.ts';
import { encodeExecutionBell } from '../../shared/queue/doorbell.ts';
import { workflowNamed } from '../support/engine.ts';
import { startSwallowingProxy } from '../support/swallowing-proxy.ts';
import { useExecutor } from './use-executor.ts';

const executor = useExecutor();
const bell = (id: ExecutionId, messageId = `message-${id}`) => ({ messageId, body: encodeExecutionBell(id) });
async function plantMany(count: number, columns?: Record<string, unknown>): Promise<ExecutionId[]> {
  const ids: ExecutionId[] = [];
  while (ids.length < count) ids.push(await executor.plant(columns));
  return ids;
}
const states = (ids: ExecutionId[]) => Promise.all(ids.map(async (id) => (await executor.row(id)).state));

describe('limits', () => {
  it('a run that takes longer than its timeout is aborted and fails as timeout', async () => {
    const id = await executor.plant({ timeout_seconds: 1 });
    const work = workflowNamed('work', async ({ signal }) => {
      await once(signal, 'abort');
      signal.throwIfAborted();
    });
    const { ended } = await executor.run([id], [work]);
    expect(ended).toMatchObject([{ failureCode: 'timeout', failureMessage: 'the run took longer than its timeout of 1 s' }]);
  });

  it('a run that notices its signal and finishes all the same has completed', async () => {
    const id = await executor.plant({ timeout_seconds: 1 });
    const work = workflowNamed('work', async ({ signal }) => {
      await once(signal, 'abort');
      return 'tidied up';
    });
    const { ended } = await executor.run([id], [work]);
    expect(ended).toMatchObject([{ state: 'completed' }]);
  });

  it('a workflow that never settles holds up neither the others nor the answer', async () => {
    const [stuck, fine] = [await executor.plant({ workflow_name: 'stuck' }), await executor.plant()];
    const never = workflowNamed('stuck', () => new Promise(() => {}));
    const startedAt = performance.now();
    const { ended } = await executor.run([stuck, fine], [never, workflowNamed('work')], { remainingMs: 3_000 });
    expect(performance.now() - startedAt).toBeLessThan(3_000);
    expect(ended.map(({ executionId, state, failureCode }) => [executionId, state, failureCode])).toEqual([
      [fine, 'completed', null],
      [stuck, 'failed', 'deadline'],
    ]);
  });

  it('an error that a run left behind throws afterwards reaches nobody', async () => {
    const id = await executor.plant();
    const late = Promise.withResolvers<never>();
    await executor.run([id], [workflowNamed('work', () => late.promise)], { remainingMs: 300 });
    late.reject(new Error('too late'));
    await new Promise(setImmediate);
    expect(await executor.row(id)).toMatchObject({ failure_code: 'deadline' });
  });
});

describe('a batch', () => {
  it('returns nothing that was started, failed or not', async () => {
    const ids = await plantMany(3);
    const work = workflowNamed('work', ({ execution }) => {
      if (execution.id === String(ids[1])) throw new Error('no');
    });
    expect(
      await executor.deliver(
        ids.map((id) => bell(id)),
        [work],
      ),
    ).toEqual([]);
    expect(await states(ids)).toEqual(['completed', 'failed', 'completed']);
  });

  it('returns every readable bell when the claim fails, and starts nothing', async () => {
    const proxy = await startSwallowingProxy(executor.url);
    proxy.cut();
    const database = openDatabase({ url: proxy.url });
    const ids = await plantMany(2);
    const messages = [...ids.map((id) => bell(id)), { messageId: 'poison', body: 'x' }, bell(ids[0]!, 'again')];
    const returned = await executor.deliver(messages, [workflowNamed('work')], { database });
    expect(returned.sort()).toEqual([`message-${ids[0]}`, `message-${ids[1]}`, 'again'].sort());
    expect(await states(ids)).toEqual(['pending', 'pending']);
    await database.close();
    await proxy.close();
  });

  it.each([
    ['not JSON', 'hello'],
    ['empty', ''],
    ['null', 'null'],
    ['a list', '[1]'],
    ['of an unknown version', '{"v":2,"executionId":"1"}'],
    ['an id that is no number', '{"v":1,"executionId":"1; drop table waybill.execution"}'],
    ['an id that is too large', `{"v":1,"executionId":"${'9'.repeat(40)}"}`],
    ['200 KB', JSON.stringify({ v: 1, executionId: 'x'.repeat(200_000) })],
    ['full of NULs', '\u0000'.repeat(100)],
  ])('drops and logs a bell that is %s, and runs the others', async (_, body) => {
    const id = await executor.plant();
    expect(await executor.deliver([{ messageId: 'poison', body }, bell(id)], [workflowNamed('work')])).toEqual([]);
    expect(await executor.row(id)).toMatchObject({ state: 'completed' });
    const [line] = executor.lines;
    expect(line).toMatchObject({ level: 'error', messageId: 'poison' });
    expect(JSON.stringify(line).length).toBeLessThan(2_000);
  });

  it('acknowledges a bell for an execution that does not exist', async () => {
    expect(await executor.deliver([bell(Number.MAX_SAFE_INTEGER as ExecutionId), bell(8_888_888 as ExecutionId)], [])).toEqual([]);
  });
});

describe('an execution that must run alone', () => {
  it('is claimed alone, and the bells of those that could have started come back', async () => {
    const [before, over] = await plantMany(2);
    await executor.run([over!], [workflowNamed('work')]);
    const solos = await plantMany(2, { is_solo: true });
    const after = await executor.plant();
    const started: string[] = [];
    const work = workflowNamed('work', ({ execution }) => void started.push(execution.id));
    const ids = [after, solos[1]!, before!, over!, solos[0]!];
    const returned = await executor.deliver(
      ids.map((id) => bell(id)),
      [work],
    );
    expect(started).toEqual([String(solos[0])]);
    expect(returned.sort()).toEqual([after, solos[1], before].map((id) => `message-${id}`).sort());
    expect(await states([before!, after, solos[1]!])).toEqual(['pending', 'pending', 'pending']);
  });

  it('that becomes pending between a claim and its repetition does not change what was claimed', async () => {
    const ids = await plantMany(2);
    const late = await executor.plant({ is_solo: true, state: 'waiting' });
    const claim = { ids: [...ids, late], leaseToken: randomUUID(), leaseSeconds: 45, requestId: 'r', logStream: 'l' };
    await claimExecutions(executor.database, claim);
    await executor.database.query({ text: `update waybill.execution set state = 'pending' where id = $1`, values: [late] });
    const again = await claimExecutions(executor.database, claim);
    expect(again.claimed.map(({ id }) => id)).toEqual(ids);
    expect(again.postponed).toEqual([late]);
  });

  it('is claimed once by eight invocations that receive the same bells at once, and nothing runs beside it', async () => {
    const ids = [...(await plantMany(3)), await executor.plant({ is_solo: true })];
    const claims = await Promise.all(
      Array.from({ length: 8 }, () =>
        claimExecutions(executor.database, { ids, leaseToken: randomUUID(), leaseSeconds: 45, requestId: 'r', logStream: 'l' }),
      ),
    );
    const claimed = claims.map((claim) => claim.claimed.map(({ id }) => id));
    expect(claimed.flat().sort()).toEqual([...ids].sort());
    expect(claimed.filter((some) => some.includes(ids[3]!))).toEqual([[ids[3]]]);
  });
});

it('each execution starts once and has one outcome, delivered up to five times, in any order and batches, at once', async () => {
  const deliveries = fc.array(fc.integer({ min: 0, max: 5 }), { minLength: 1, maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(
      deliveries,
      fc.array(fc.nat(), { minLength: 30, maxLength: 30 }),
      fc.integer({ min: 1, max: 10 }),
      async (times, order, batchSize) => {
        const ids = await plantMany(times.length);
        const starts = new Map<string, number>();
        const work = workflowNamed('work', ({ execution }) => {
          starts.set(execution.id, (starts.get(execution.id) ?? 0) + 1);
          return starts.get(execution.id);
        });
        const bells = ids.flatMap((id, index) => Array.from({ length: times[index]! }, (_, copy) => bell(id, `${id}/${copy}`)));
        const shuffled = bells
          .map((one, index) => ({ one, key: order[index]! }))
          .sort((a, b) => a.key - b.key)
          .map(({ one }) => one);
        const batches = Array.from({ length: Math.ceil(shuffled.length / batchSize) }, (_, index) =>
          shuffled.slice(index * batchSize, (index + 1) * batchSize),
        );
        executor.lines.length = 0;
        const returned = await Promise.all(batches.map((batch) => executor.deliver(batch, [work])));
        expect(returned.flat()).toEqual([]);
        expect(ids.map((id) => starts.get(String(id)) ?? 0)).toEqual(times.map((count) => Math.min(count, 1)));
        expect(await states(ids)).toEqual(times.map((count) => (count ? 'completed' : 'pending')));
        expect(executor.lines.filter(({ message }) => message === 'run ended')).toHaveLength(times.filter(Boolean).length);
      },
    ),
    { numRuns: 30 },
  );
});
