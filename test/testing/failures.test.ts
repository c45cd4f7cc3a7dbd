import { once } from 'node:events';
import { describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { createTestKit } from '../../local/testing/index.ts';
import { app, every, InvalidAppError, NonRetryableError, workflow } from '../../shared/index.ts';
import { appOf, useKits, work } from './use-kit.ts';

const createKit = useKits();
const at = '2026-01-01T00:00:00Z';
const never = () => new Promise(() => {});

describe('a dead letter', () => {
  it('is written when all attempts have failed, and its retry runs with the input that failed', async () => {
    let isDown = true;
    const inputs: unknown[] = [];
    const kit = await createKit(
      appOf(
        (scheduler, work) => scheduler.schedule(work, 'import', { table: 'orders' }, every.days(1), { maxAttempts: 2 }),
        (_, input) => {
          inputs.push(input);
          if (isDown) throw new Error('the warehouse is down');
          return 'imported';
        },
      ),
    );
    await kit.advanceBy({ hours: 1 });
    const [letter] = await kit.deadLetters({ manifest: 'import' });
    expect(letter).toMatchObject({ manifest: 'import', reason: 'exhausted', failedCount: 2, message: 'the warehouse is down' });
    await kit.advanceBy({ days: 2 });
    expect(await kit.runs({ manifest: 'import' })).toHaveLength(2);

    isDown = false;
    await kit.retryDeadLetter(letter!.id);
    await kit.drain();
    expect(await kit.deadLetters()).toEqual([]);
    expect(await kit.deadLetters({ status: 'retried' })).toHaveLength(1);
    const [, , retried] = await kit.runs({ manifest: 'import' });
    expect(retried).toMatchObject({ state: 'completed', origin: 'dead_letter', attempt: 3, output: 'imported' });
    expect(inputs).toEqual([{ table: 'orders' }, { table: 'orders' }, { table: 'orders' }]);
  });

  it('is written at once for an error that no attempt can mend, and ends when it is acknowledged', async () => {
    const kit = await createKit(
      appOf(
        (scheduler, work) => scheduler.schedule(work, 'import', {}, every.hours(1)),
        () => {
          throw new NonRetryableError('the file is corrupt');
        },
      ),
    );
    await kit.advanceBy({ hours: 5 });
    const [letter, ...others] = await kit.deadLetters();
    expect(others).toEqual([]);
    await kit.acknowledgeDeadLetter(letter!.id, { note: 'asked for a new one' });
    expect(await kit.deadLetters({ status: 'acknowledged' })).toMatchObject([{ resolutionNote: 'asked for a new one' }]);
    expect(await kit.run(letter!.executionId)).toMatchObject({ state: 'failed', failure: { message: 'the file is corrupt' } });
  });
});

describe('what people ask for', () => {
  it('a trigger with an input runs with it, a delayed one later', async () => {
    const kit = await createKit(
      appOf(
        (scheduler, work) => scheduler.scheduleOnce(work, 'report', { month: 1 }, '2030-01-01T00:00:00Z'),
        (_, input) => input,
      ),
    );
    expect(await kit.trigger('report', { month: 2 })).toMatchObject({ outcome: 'queued' });
    await kit.trigger('report', { month: 3 }, { delaySeconds: 60 });
    expect(await kit.queue()).toHaveLength(2);
    await kit.advanceBy({ minutes: 1 });
    expect(await kit.runs()).toMatchObject([
      { output: { month: 2 }, startedAt: '2026-01-01T00:00:00.000Z', initiator: { name: 'Test kit' } },
      { output: { month: 3 }, startedAt: '2026-01-01T00:01:00.000Z' },
    ]);
  });

  it('a workflow runs without a manifest', async () => {
    const double = workflow({ name: 'double', input: z.object({ value: z.number() }), run: (_, { value }) => value * 2 });
    const kit = await createKit(app({ name: 'test', workflows: [double], manifests: () => {} }));
    await kit.runWorkflow(double, { value: 21 });
    await kit.drain();
    expect(await kit.runs({ workflow: 'double' })).toMatchObject([{ manifest: null, state: 'completed', output: 42 }]);
  });

  it('a disabled manifest rests, and goes on from when it is enabled', async () => {
    const kit = await createKit(appOf((scheduler, work) => scheduler.schedule(work, 'hourly', {}, every.hours(1))));
    await kit.disable('hourly');
    await kit.advanceBy({ hours: 3 });
    expect(await kit.runs()).toEqual([]);
    await kit.enable('hourly');
    await kit.advanceBy({ hours: 1 });
    expect(await kit.runs()).toMatchObject([{ occurrenceAt: '2026-01-01T04:00:00.000Z' }]);
  });

  it('a run that waits is cancelled at once', async () => {
    const kit = await createKit(
      appOf(
        (scheduler, work) => scheduler.scheduleOnce(work, 'patient', {}, at),
        (ctx) => ctx.sleep('rest', { hours: 1 }),
      ),
    );
    await kit.drain();
    const [run] = await kit.runs();
    expect(await kit.cancel(run!.id)).toEqual({ outcome: 'cancelled' });
    await kit.advanceBy({ hours: 2 });
    expect(await kit.runs()).toMatchObject([{ state: 'cancelled' }]);
  });

  it('a run that is running is cancelled through its signal', async () => {
    const running = Promise.withResolvers<string>();
    const kit = await createKit(
      appOf(
        (scheduler, work) => scheduler.scheduleOnce(work, 'endless', {}, at),
        async ({ signal, execution }) => {
          running.resolve(execution.id);
          await once(signal, 'abort');
          signal.throwIfAborted();
        },
      ),
    );
    const drained = kit.drain();
    expect(await kit.cancel(await running.promise)).toEqual({ outcome: 'requested' });
    await drained;
    expect(await kit.runs()).toMatchObject([{ state: 'cancelled', failure: { code: 'cancelled' } }]);
  });

  it.each([
    ['a run of a manifest', (kit) => kit.runs({ manifest: 'hourli' }), "manifest 'hourli' does not exist: app 'test' declares hourly"],
    ['a run of a workflow', (kit) => kit.runs({ workflow: 'wrok' }), "workflow 'wrok' does not exist: app 'test' declares work"],
    ['a manifest', (kit) => kit.manifest('hourli'), "manifest 'hourli' does not exist"],
    ['a trigger', (kit) => kit.trigger('hourli'), "manifest 'hourli' does not exist"],
    ['a workflow', (kit) => kit.runWorkflow({ ...work, name: 'wrok' }, {}), "workflow 'wrok' does not exist"],
    ['an execution', (kit) => kit.run('99'), "execution '99' does not exist: runs() lists those that do"],
    ['a dead letter', (kit) => kit.retryDeadLetter('99'), "dead letter '99' does not exist"],
  ] satisfies [string, (kit: Awaited<ReturnType<typeof createKit>>) => Promise<unknown>, string][])(
    'is refused for something that does not exist: %s',
    async (_, ask, message) => {
      const kit = await createKit(appOf((scheduler, work) => scheduler.schedule(work, 'hourly', {}, every.hours(1))));
      await expect(ask(kit)).rejects.toThrow(message);
    },
  );
});

describe('a run that hangs', () => {
  it('is named, told to stop, and lost like one whose function was killed', async () => {
    let isHanging = true;
    const stopped = vi.fn();
    const kit = await createKit(
      appOf(
        (scheduler, work) => {
          scheduler.scheduleOnce(work, 'stuck', {}, at);
          scheduler.scheduleOnce(work, 'behind', {}, at);
        },
        ({ signal, execution }) => {
          if (execution.manifest === 'behind' || !isHanging) return null;
          signal.addEventListener('abort', stopped);
          return never();
        },
      ),
      { runLimitMs: 100 },
    );
    await expect(kit.drain()).rejects.toThrow(
      /execution \d+ of manifest 'stuck', workflow 'work', attempt 1, has not ended after 100 ms of real time/,
    );
    expect(stopped).toHaveBeenCalledOnce();
    isHanging = false;
    await kit.advanceBy({ hours: 1 });
    expect(await kit.runs({ manifest: 'behind' })).toMatchObject([{ state: 'completed' }]);
    expect(await kit.runs({ manifest: 'stuck' })).toMatchObject([
      { state: 'failed', failure: { code: 'lease_lost' } },
      { state: 'completed', attempt: 2 },
    ]);
  });

  it('that drains the kit it runs in is named, too', async () => {
    const kit = await createKit(
      appOf(
        (scheduler, work) => scheduler.scheduleOnce(work, 'inside', {}, at),
        () => kit.drain(),
      ),
      { runLimitMs: 100 },
    );
    await expect(kit.drain()).rejects.toThrow("of manifest 'inside'");
  });

  it('may take longer when the test says so, and fails by its own timeout when it has one', async () => {
    const kit = await createKit(
      appOf((scheduler, work) => scheduler.scheduleOnce(work, 'slow', {}, at, { timeoutSeconds: 1, maxAttempts: 1 }), never),
      { runLimitMs: 10_000 },
    );
    await kit.drain();
    expect(await kit.runs()).toMatchObject([{ state: 'failed', failure: { code: 'timeout' } }]);
  });

  it('is not to be confused with a limit that makes no sense', async () => {
    await expect(
      createTestKit(
        appOf(() => {}),
        { runLimitMs: 0 },
      ),
    ).rejects.toThrow('runLimitMs must be a positive number of milliseconds, got 0');
  });
});

describe('an app', () => {
  it('is refused with all of its mistakes', async () => {
    const broken = appOf((scheduler, work) => {
      scheduler.schedule(work, 'first', {}, every.seconds(0));
      scheduler.schedule(work, 'second', {}, every.hours(1), { maxAttempts: 0 });
    });
    const error = await createTestKit(broken).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(InvalidAppError);
    expect((error as InvalidAppError).mistakes).toMatchObject([expect.stringContaining("'first'"), expect.stringContaining("'second'")]);
  });

  it('is what must be given', async () => {
    await expect(createTestKit(undefined as never)).rejects.toThrow(
      'the test kit was given undefined: give it what `app({ name, workflows, manifests })` made',
    );
  });

  it('that cannot be deployed leaves nothing behind', async () => {
    const reserved = app({ name: 'runtime', workflows: [], manifests: () => {} });
    await expect(createTestKit(reserved)).rejects.toThrow("app name 'runtime' is taken");
  });
});
