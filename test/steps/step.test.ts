import { describe, expect, expectTypeOf, it } from 'vitest';
import { sql } from '../../shared/db/sql.ts';
import { NonRetryableError, StepFailedError, StepTimeoutError } from '../../shared/errors.ts';
import type { WorkflowContext } from '../../shared/model/workflow.ts';
import { useSteps } from './use-steps.ts';

const world = useSteps();
/** A step that notes that its code ran. */
const note = <Result>(ctx: WorkflowContext, name: string, result?: Result) =>
  ctx.step(name, () => {
    world.done.push(name);
    return result;
  });
const run = async () => (await world.executions()).at(-1)!;

describe('a step', () => {
  it('is recorded with its beginning, its end and its result', async () => {
    world.behaviour = async (ctx) => ({ key: (await note(ctx, 'download', { key: 'a/b' }))?.key });
    await world.begin();
    await world.invoke();
    const execution = await run();
    expect(execution).toMatchObject({ state: 'completed', output: { key: 'a/b' } });
    expect(await world.steps()).toMatchObject([
      {
        name: 'download',
        kind: 'step',
        state: 'completed',
        output: { key: 'a/b' },
        execution_id: execution.id,
        started_at: world.clock.now(),
      },
    ]);
  });

  it('is begun in the database before its code runs', async () => {
    world.behaviour = (ctx) => ctx.step('look', async () => (await world.steps()).map(({ name, state }) => [name, state]));
    await world.begin();
    await world.invoke();
    expect(await run()).toMatchObject({ output: [['look', 'running']] });
  });

  it('gives its result as JSON the first time too', async () => {
    world.behaviour = async (ctx) => {
      const found = await ctx.step('find', () => ({ at: new Date(0), gone: undefined, seen: new Map([[1, 2]]) }));
      expectTypeOf(found).toEqualTypeOf<{ at: string; seen: Record<string, never> }>();
      expect(found).toEqual({ at: '1970-01-01T00:00:00.000Z', seen: {} });
      expect(await ctx.step('nothing', () => {})).toBeNull();
    };
    await world.begin();
    expect(await world.invoke()).toMatchObject([{ state: 'completed' }]);
  });

  it('that was completed is not run again by a later attempt, which gets its result', async () => {
    world.behaviour = async (ctx) => {
      const first = await note(ctx, 'first', 1);
      if (ctx.attempt === 1) throw new Error('not yet');
      return [first, await note(ctx, 'second', 2)];
    };
    await world.begin();
    await world.finish();
    expect(world.done).toEqual(['first', 'second']);
    const executions = await world.executions();
    expect(executions).toMatchObject([{ state: 'failed' }, { state: 'completed', attempt: 2, output: [1, 2] }]);
    expect(await world.steps()).toMatchObject([{ execution_id: executions[0]!.id }, { execution_id: executions[1]!.id }]);
  });

  it('is found by its name, in whatever order a later attempt asks', async () => {
    world.behaviour = async (ctx) => {
      const names = ctx.attempt === 1 ? ['a', 'b', 'c'] : ['c', 'a', 'b'];
      const results: Record<string, unknown> = {};
      for (const name of names) results[name] = await note(ctx, name, `${name} of ${ctx.attempt}`);
      if (ctx.attempt === 1) throw new Error('not yet');
      return results;
    };
    await world.begin();
    await world.finish();
    expect(await run()).toMatchObject({ output: { a: 'a of 1', b: 'b of 1', c: 'c of 1' } });
  });

  it('that a later attempt runs to its end without asking for is named in a warning', async () => {
    world.behaviour = async (ctx) => {
      if (ctx.attempt === 1) for (const name of ['kept', 'renamed', 'dropped']) await note(ctx, name);
      if (ctx.attempt === 1) throw new Error('not yet');
      await note(ctx, 'kept');
    };
    await world.begin();
    await world.finish();
    expect(world.lines.filter(({ level }) => level === 'warn').at(-1)).toMatchObject({
      message: expect.stringContaining('steps are recorded that the run did not ask for'),
      executionId: String((await run()).id),
      steps: ['renamed', 'dropped'],
    });
  });

  it('of which every one was asked for leaves no warning', async () => {
    world.behaviour = async (ctx) => {
      await note(ctx, 'kept');
      if (ctx.attempt === 1) throw new Error('not yet');
    };
    await world.begin();
    await world.finish();
    expect(world.lines.filter(({ message }) => String(message).includes('did not ask for'))).toEqual([]);
  });

  it('of another run has nothing to do with it', async () => {
    world.behaviour = (ctx) => note(ctx, 'same');
    for (let round = 0; round < 2; round++) {
      await world.begin();
      await world.finish();
    }
    expect(world.done).toEqual(['same', 'same']);
  });

  it('with a result of hundreds of kilobytes is not loaded before it is asked for', async () => {
    const large = Array.from({ length: 20_000 }, (_, index) => `${index}`.padStart(10, '0'));
    world.behaviour = async (ctx) => {
      const items = await note(ctx, 'large', large);
      if (ctx.attempt === 1) throw new Error('not yet');
      return { count: items?.length, last: items?.at(-1) };
    };
    await world.begin();
    await world.finish();
    expect(world.done).toEqual(['large']);
    expect(await run()).toMatchObject({ output: { count: 20_000, last: '0000019999' } });
  });

  it('runs beside others, and each is recorded', async () => {
    world.behaviour = (ctx) => Promise.all(Array.from({ length: 20 }, (_, index) => note(ctx, `part-${index}`, index)));
    await world.begin();
    await world.invoke();
    expect(await run()).toMatchObject({ output: Array.from({ length: 20 }, (_, index) => index) });
    expect(await world.steps()).toHaveLength(20);
  });

  it('that nobody awaits ends with the run and not later', async () => {
    const gate = Promise.withResolvers<void>();
    world.behaviour = async (ctx) => {
      const begun = Promise.withResolvers<void>();
      void ctx.step('forgotten', async () => {
        begun.resolve();
        await gate.promise;
      });
      await begun.promise;
    };
    await world.begin();
    expect(await world.invoke()).toMatchObject([{ state: 'completed' }]);
    gate.resolve();
    expect(await world.steps()).toMatchObject([
      { state: 'failed', failure_code: 'run_ended', failure_message: 'the run ended before it did' },
    ]);
  });

  it('that fails before anybody awaits it does not end the process', async () => {
    world.behaviour = async (ctx) => {
      const early = ctx.step('early', () => Promise.reject(new Error('no')));
      for (const name of ['much', 'later', 'than', 'that']) await note(ctx, name);
      return await early.catch((error: Error) => error.message);
    };
    await world.begin();
    await world.invoke();
    expect(await run()).toMatchObject({ state: 'completed', output: 'no' });
  });

  it('belongs to a run that has at most ten thousand of them', async () => {
    await world.begin();
    await world.rows(sql`
      insert into waybill.execution_step (execution_id, run_id, name, sequence, state, started_at, finished_at)
      select e.id, e.id, 'old-' || n, n, 'completed', waybill.now(), waybill.now() from waybill.execution e, generate_series(1, 10000) n`);
    world.behaviour = (ctx) => note(ctx, 'one-more');
    expect(await world.invoke()).toMatchObject([
      {
        state: 'failed',
        failureCode: 'non_retryable',
        failureMessage: expect.stringContaining("step 'one-more' would be one more than the 10000"),
      },
    ]);
  });
});

describe('a step that fails', () => {
  it('fails the run, which says which step it was', async () => {
    class Refused extends Error {
      override name = 'Refused';
    }
    world.behaviour = (ctx) => ctx.step('download', () => Promise.reject(new Refused('no route to host')));
    await world.begin();
    expect(await world.invoke()).toMatchObject([{ state: 'failed', failureCode: 'thrown', next: 'retry' }]);
    expect(await run()).toMatchObject({
      failure_step: 'download',
      failure_message: 'no route to host',
      failure_stack: expect.stringMatching(/^Refused: no route to host\n.*step\.test\.ts/s),
    });
    expect(await world.steps()).toMatchObject([
      { state: 'failed', failure_code: 'thrown', failure_name: 'Refused', failure_message: 'no route to host' },
    ]);
  });

  it('is run again by the next attempt', async () => {
    world.behaviour = (ctx) =>
      ctx.step('flaky', () => {
        world.done.push('flaky');
        if (world.done.length === 1) throw new Error('not yet');
        return 'well';
      });
    await world.begin();
    await world.finish();
    expect(await run()).toMatchObject({ state: 'completed', attempt: 2, output: 'well' });
    expect(await world.steps()).toMatchObject([{ state: 'completed', failure_message: null, failure_code: null }]);
  });

  it('may be caught, and its error tells what was recorded', async () => {
    world.behaviour = async (ctx) => {
      const thrown = await ctx.step('parse', () => JSON.parse('{')).catch((error: unknown) => error as StepFailedError);
      expect(thrown).toBeInstanceOf(StepFailedError);
      expect(thrown).toMatchObject({ step: 'parse', errorName: 'SyntaxError', code: 'thrown', retryable: true });
      return note(ctx, 'fallback', 'used');
    };
    await world.begin();
    expect(await world.invoke()).toMatchObject([{ state: 'completed' }]);
    expect(await world.steps()).toMatchObject([{ name: 'parse', state: 'failed' }, { name: 'fallback' }]);
  });

  it('is named by the run whose own error was caused by it', async () => {
    world.behaviour = (ctx) =>
      ctx.step('download', () => Promise.reject(new Error('no'))).catch((cause) => Promise.reject(new Error('import failed', { cause })));
    await world.begin();
    await world.invoke();
    expect(await run()).toMatchObject({
      failure_code: 'thrown',
      failure_message: 'import failed (caused by: no)',
      failure_step: 'download',
    });
  });

  it('for good dead-letters the run at once', async () => {
    class Gone extends NonRetryableError {}
    world.behaviour = (ctx) =>
      ctx.step(
        'download',
        () => {
          world.done.push('download');
          throw new Gone('it was deleted');
        },
        { retries: 5 },
      );
    await world.begin();
    expect(await world.invoke()).toMatchObject([{ failureCode: 'non_retryable', failureMessage: 'it was deleted', next: 'dead_letter' }]);
    expect(world.done).toEqual(['download']);
    expect(await run()).toMatchObject({ failure_step: 'download' });
  });

  it('is tried again within the attempt as often as it says, after a pause that grows', async () => {
    const tries: number[] = [];
    world.behaviour = (ctx) =>
      ctx.step(
        'flaky',
        () => {
          tries.push(performance.now());
          if (tries.length < 3) throw new Error('not yet');
          return 'well';
        },
        { retries: 2 },
      );
    await world.begin();
    await world.invoke();
    expect(await run()).toMatchObject({ state: 'completed', attempt: 1, output: 'well' });
    expect(tries).toHaveLength(3);
    expect(tries[1]! - tries[0]!).toBeGreaterThan(240);
    expect(tries[2]! - tries[1]!).toBeGreaterThan(490);
    expect(world.lines.filter(({ level }) => level === 'warn')).toMatchObject([
      { message: "step 'flaky' failed and is tried again", tried: 1, reason: 'not yet' },
      { tried: 2 },
    ]);
  });

  it('keeps secrets: of what was thrown the record and the error are redacted', async () => {
    process.env.STEP_TOKEN = 'hidden-token-value';
    world.behaviour = (ctx) => ctx.step('login', () => Promise.reject(new Error('refused hidden-token-value')));
    await world.begin();
    await world.invoke();
    delete process.env.STEP_TOKEN;
    expect(await run()).toMatchObject({ failure_message: 'refused [redacted]' });
    expect(JSON.stringify(await world.steps())).not.toContain('hidden-token-value');
  });
});

describe('the time of a step', () => {
  it('is limited by its timeout, which its signal tells', async () => {
    let reason: unknown;
    world.behaviour = (ctx) =>
      ctx.step(
        'slow',
        ({ signal }) =>
          new Promise((_, reject) => {
            signal.addEventListener('abort', () => {
              reason = signal.reason;
              reject(new Error('stopped'));
            });
          }),
        { timeoutSeconds: 0.1 },
      );
    await world.begin();
    expect(await world.invoke()).toMatchObject([
      { failureCode: 'step_timeout', failureMessage: "step 'slow' took longer than its timeout of 0.1 s", next: 'retry' },
    ]);
    expect(reason).toBeInstanceOf(StepTimeoutError);
    expect(await world.steps()).toMatchObject([{ state: 'failed', failure_code: 'step_timeout', failure_name: 'StepTimeoutError' }]);
  });

  it('is over after a grace, even if its code does not notice', async () => {
    world.behaviour = async (ctx) => {
      const error = await ctx.step('deaf', () => new Promise(() => {}), { timeoutSeconds: 0.05 }).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(StepTimeoutError);
      return note(ctx, 'next', 'done');
    };
    await world.begin();
    await world.invoke({ timings: { graceMs: 50 } });
    expect(await run()).toMatchObject({ state: 'completed', output: 'done' });
  });

  it('is its own in every try', async () => {
    world.behaviour = (ctx) =>
      ctx.step(
        'slow-once',
        ({ signal }) => {
          world.done.push('try');
          if (world.done.length === 2) return 'in time';
          return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
        },
        { timeoutSeconds: 0.1, retries: 1 },
      );
    await world.begin();
    await world.invoke();
    expect(await run()).toMatchObject({ state: 'completed', output: 'in time' });
  });

  it('ends with the run: a cancelled run’s step hears it and may clean up', async () => {
    world.behaviour = (ctx) =>
      ctx.step('long', async ({ signal }) => {
        await world.database.query(sql`update waybill.execution set cancel_requested_at = waybill.now()`);
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        world.done.push(signal.reason.code);
        signal.throwIfAborted();
      });
    await world.begin();
    expect(await world.invoke({ timings: { firstRenewalMs: 20, renewalMs: 20 } })).toMatchObject([{ state: 'cancelled' }]);
    expect(world.done).toEqual(['cancelled']);
    expect(await world.steps()).toMatchObject([{ state: 'failed', failure_code: 'run_ended' }]);
  });
});

describe('a mistake is refused, and no attempt repeats it', () => {
  const refused: [string, (ctx: WorkflowContext) => unknown, string | RegExp][] = [
    ['an empty name', (ctx) => note(ctx, ''), "step name '' is not allowed: use 1 to 200 characters without '/'"],
    ['a name that is too long', (ctx) => note(ctx, 'x'.repeat(201)), /^step name 'x{200}' is not allowed/],
    ['a slash in a name', (ctx) => note(ctx, 'a/b'), "step name 'a/b' is not allowed"],
    ['a name that is no text', (ctx) => note(ctx, 7 as never), 'step name of type number is not allowed'],
    ['a name of an activation', (ctx) => note(ctx, 'activate:x#1'), "step name 'activate:x#1' is not allowed"],
    ['a name that cannot be stored', (ctx) => note(ctx, 'a\u0000'), "step name 'a\u0000' is not allowed".replace('\u0000', '\uFFFD')],
    [
      'a name that is used twice',
      (ctx) => Promise.all([note(ctx, 'x'), note(ctx, 'x')]),
      "step 'x' is used twice in one run: give each call its own name, for example 'x-1'",
    ],
    ['a step in a step', (ctx) => ctx.step('outer', () => note(ctx, 'inner')), "step 'inner' is asked for inside step 'outer'"],
    ['a sleep in a step', (ctx) => ctx.step('outer', () => ctx.sleep('inner', 1)), "sleep 'inner' is asked for inside step 'outer'"],
    [
      'a negative number of retries',
      (ctx) => ctx.step('x', () => 1, { retries: -1 }),
      "retries of step 'x' is -1: it must be a whole number from 0",
    ],
    [
      'a timeout of nothing',
      (ctx) => ctx.step('x', () => 1, { timeoutSeconds: 0 }),
      "timeoutSeconds of step 'x' is 0: it must be more than 0",
    ],
    [
      'a sleep of no known unit',
      (ctx) => ctx.sleep('x', { weeks: 1 } as never),
      `sleep 'x' has the duration {"weeks":1}: it must be a number of seconds, or`,
    ],
    ['a sleep into the past', (ctx) => ctx.sleep('x', -1), "sleep 'x' has the duration -1: it must be"],
    ['a sleep of more than a year', (ctx) => ctx.sleep('x', { days: 367 }), `sleep 'x' has the duration {"days":367}: it must be`],
    ['a sleep of no length', (ctx) => ctx.sleep('x', {}), "sleep 'x' has the duration {}: it must be"],
  ];

  it.each(refused)('%s', async (_, behaviour, message) => {
    world.behaviour = behaviour;
    await world.begin();
    const [ended] = await world.invoke();
    expect(ended).toMatchObject({ state: 'failed', failureCode: 'non_retryable', next: 'dead_letter' });
    expect(ended!.failureMessage).toEqual(typeof message === 'string' ? expect.stringContaining(message) : expect.stringMatching(message));
  });

  it.each<[string, () => unknown, string]>([
    [
      'too large',
      () => 'x'.repeat(256 * 1024),
      "the output of step 'big' cannot be stored: it is 262146 bytes of JSON, at most 262144 are allowed",
    ],
    ['no JSON', () => ({ count: 1n }), "the output of step 'big' cannot be stored: it is not JSON: Do not know how to serialize a BigInt"],
  ])('a result that is %s', async (_, result, message) => {
    world.behaviour = (ctx) => ctx.step('big', result);
    await world.begin();
    expect(await world.invoke()).toMatchObject([
      { failureCode: 'invalid_output', failureMessage: expect.stringContaining(message), next: 'dead_letter' },
    ]);
    expect(await run()).toMatchObject({ failure_step: 'big' });
    expect(await world.steps()).toMatchObject([{ state: 'failed', failure_code: 'invalid_output' }]);
  });

  it('a name under which something else was recorded', async () => {
    world.behaviour = async (ctx) => {
      if (ctx.attempt === 2) return ctx.sleep('pause', 1);
      await note(ctx, 'pause');
      throw new Error('not yet');
    };
    await world.begin();
    await world.finish().catch(() => {});
    expect(await run()).toMatchObject({ failure_message: "'pause' was recorded as a step and is now a sleep: give it another name" });
  });

  it.each([
    ['the longest text', () => 'x'.repeat(256 * 1024 - 2)],
    ['a list of digits', () => Array.from({ length: 131_000 }, () => 1)],
    ['a list of numbers that are written out', () => Array.from({ length: 37_000 }, () => 1e308)],
    ['a list of lists', () => Array.from({ length: 87_000 }, () => [])],
  ])('but what JSON can say in 256 KiB can be stored: %s', async (_, result) => {
    world.behaviour = (ctx) => ctx.step('big', result as () => unknown).then(() => 'stored');
    await world.begin();
    expect(await world.invoke()).toMatchObject([{ state: 'completed' }]);
  });
});

describe('an executor that has lost its lease', () => {
  const lose = async () => {
    world.clock.advance(46);
    expect((await world.manage()).recovered).toMatchObject([{ failureCode: 'lease_lost' }]);
  };

  it('begins no further step', async () => {
    world.behaviour = async (ctx) => {
      await note(ctx, 'first');
      await lose();
      await note(ctx, 'second');
      world.done.push('behind');
    };
    await world.begin();
    expect(await world.invoke({ timings: { graceMs: 20 } })).toEqual([]);
    expect(world.done).toEqual(['first']);
    expect((await world.steps()).map(({ name }) => name)).toEqual(['first']);
  });

  it('completes none: the next attempt runs it again', async () => {
    world.behaviour = async (ctx) => {
      await ctx.step('long', () => (ctx.attempt === 1 ? lose() : void world.done.push('again')));
      world.done.push('behind');
    };
    await world.begin();
    expect(await world.invoke({ timings: { graceMs: 20 } })).toEqual([]);
    expect(world.done).toEqual([]);
    expect(await world.steps()).toMatchObject([{ name: 'long', state: 'failed', failure_code: 'run_ended' }]);
    await world.finish();
    expect(world.done).toEqual(['again', 'behind']);
  });
});
