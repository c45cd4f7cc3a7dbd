import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { NonRetryableError } from '../../shared/errors.ts';
import type { AnyWorkflow } from '../../shared/model/workflow.ts';
import { workflowNamed } from '../support/engine.ts';
import { useExecutor } from './use-executor.ts';

const executor = useExecutor();

async function recordThrown(thrown: unknown): Promise<{ message: string; stack: string | null; code: string }> {
  const id = await executor.plant();
  await executor.run([id], [workflowNamed('work', () => Promise.reject(thrown))]);
  const { state, failure_message, failure_stack, failure_code } = await executor.row(id);
  expect(state).toBe('failed');
  return { message: failure_message as string, stack: failure_stack as string | null, code: failure_code as string };
}

function cyclic(): object {
  const value: Record<string, unknown> = { a: 1 };
  value.self = value;
  return value;
}
class Refusal {
  reason = 'closed';
}
const throwingGetters = Object.defineProperties(new Error('hidden'), {
  message: {
    get() {
      throw new Error('no message for you');
    },
  },
  stack: {
    get() {
      throw new Error('no stack for you');
    },
  },
});
const hostile = new Proxy(
  {},
  {
    get() {
      throw new Error('get');
    },
    getPrototypeOf() {
      throw new Error('getPrototypeOf');
    },
    ownKeys() {
      throw new Error('ownKeys');
    },
  },
);
const circularCause = new Error('outer');
circularCause.cause = new Error('inner', { cause: circularCause });

describe('anything that is thrown is recorded', () => {
  it.each<[string, unknown, string | RegExp]>([
    ['undefined', undefined, 'undefined'],
    ['null', null, 'null'],
    ['a number', 42, '42'],
    ['a big integer', 42n, '42'],
    ['a string', 'plain', 'plain'],
    ['an empty error', new Error(''), 'Error'],
    ['a symbol', Symbol('why'), 'Symbol(why)'],
    ['a function', function refuse() {}, 'a function was thrown: refuse'],
    ['a plain object', { code: 7 }, '{"code":7}'],
    ['a cyclic object', cyclic(), '{"a":1,"self":"[circular]"}'],
    ['a class instance', new Refusal(), 'Refusal {"reason":"closed"}'],
    ['an object without a prototype', Object.assign(Object.create(null), { a: 1 }), '{"a":1}'],
    ['an error with a NUL', new Error('a\u0000b'), 'a\uFFFDb'],
    ['an error with half a character', new Error('a\ud83d'), 'a\uFFFD'],
    ['an error whose properties throw', throwingGetters, 'Error'],
    ['a proxy that resists', hostile, 'a value was thrown that cannot be read'],
    ['an error with a cause', new Error('fetch failed', { cause: new Error('refused') }), 'fetch failed (caused by: refused)'],
    ['an error that causes itself', circularCause, 'outer (caused by: inner (caused by: outer (caused by: inner)))'],
    ['gathered errors', new AggregateError([new Error('a'), 'b'], 'all failed'), 'all failed (caused by: a; b)'],
    [
      'a thousand gathered errors',
      new AggregateError(Array.from({ length: 1_000 }, (_, n) => n)),
      'AggregateError (caused by: 0; 1; 2; 3; 4; and 995 more)',
    ],
  ])('%s', async (_, thrown, message) => {
    expect((await recordThrown(thrown)).message).toEqual(typeof message === 'string' ? message : expect.stringMatching(message));
  });

  it('a message of ten megabytes is cut, and so is its stack', async () => {
    const { message, stack } = await recordThrown(new Error('x'.repeat(10_000_000)));
    expect(message).toMatch(/^x{3999}…$/);
    expect(stack?.length).toBe(16_000);
  });

  it('a cut through the middle of a character leaves text that can be stored', async () => {
    expect((await recordThrown(new Error(`a${'😀'.repeat(5_000)}`))).message).toMatch(/^a😀+\uFFFD?…$/u);
  });

  it('the stack shows the causes too', async () => {
    const { stack } = await recordThrown(new Error('outer', { cause: new TypeError('inner') }));
    expect(stack).toMatch(/^Error: outer\n.*caused by: TypeError: inner/s);
  });

  it('an error that says so is not retried, nor is one of a class below it', async () => {
    class Gone extends NonRetryableError {}
    expect(await recordThrown(new NonRetryableError('gone'))).toMatchObject({ code: 'non_retryable' });
    expect(await recordThrown(new Gone('gone'))).toMatchObject({ code: 'non_retryable' });
    expect(await recordThrown(Object.assign(new Error('gone'), { name: 'NonRetryableError' }))).toMatchObject({ code: 'non_retryable' });
  });
});

describe('secrets', () => {
  const secrets = {
    STRIPE_SECRET: 'sk_live_0123456789',
    GITHUB_TOKEN: 'ghp_abcdefghijkl',
    MY_PASSWORD: 'pass"word\\with\nodd characters',
    API_KEY: 'k-12345678',
    WAREHOUSE_URL: 'postgres://loader:h%40rd-to-guess@warehouse:5432/db',
    SHORT_KEY: 'abc',
    HARMLESS: 'not-a-secret-at-all',
  };
  beforeEach(() => void Object.assign(process.env, secrets));
  afterEach(() => {
    for (const name of Object.keys(secrets)) delete process.env[name];
  });
  const leaky = Object.entries(secrets)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ');
  const hidden = [
    secrets.STRIPE_SECRET,
    secrets.GITHUB_TOKEN,
    secrets.MY_PASSWORD,
    secrets.API_KEY,
    'odd characters',
    'h%40rd-to-guess',
    'h@rd-to-guess',
  ];
  const expectHidden = (text: string) => {
    for (const secret of hidden) expect(text).not.toContain(secret);
  };

  it('in a message, a stack, a cause and a thrown object are blotted out; other values are not', async () => {
    const thrown = new Error(`${leaky} h@rd-to-guess`, { cause: { leaky } });
    const { message, stack } = await recordThrown(thrown);
    expectHidden(message);
    expectHidden(stack!);
    expect(message).toContain('HARMLESS=not-a-secret-at-all');
    expect(message).toContain('STRIPE_SECRET=[redacted]');
    expect(message).toContain('postgres://loader:[redacted]@warehouse:5432/db');
  });

  it('are blotted out of URLs that are in no variable', async () => {
    const { message } = await recordThrown(new Error('cannot reach amqp://guest:pw@queue/x or https://host:8080/a?to=b@c'));
    expect(message).toBe('cannot reach amqp://guest:[redacted]@queue/x or https://host:8080/a?to=b@c');
  });

  it('that a cut would go through are blotted out before it', async () => {
    const text = `${'x'.repeat(3_990)}${secrets.STRIPE_SECRET}`;
    for (const thrown of [new Error(text), text, { text }]) expect((await recordThrown(thrown)).message).not.toContain('sk_l');
  });

  it('that a workflow loads while it runs are known too', async () => {
    const id = await executor.plant();
    const work = workflowNamed('work', () => {
      process.env.STRIPE_SECRET = 'loaded-just-now';
      throw new Error('failed with loaded-just-now');
    });
    await executor.run([id], [work]);
    expect(await executor.row(id)).toMatchObject({ failure_message: 'failed with [redacted]' });
  });

  it('do not reach the log, in whatever field', async () => {
    const id = await executor.plant();
    const work = workflowNamed('work', ({ log }) => {
      log.info(leaky, { leaky, deep: [{ leaky }], error: new Error(leaky), map: new Map([[leaky, cyclic()]]), count: 3n });
      log.warn('sound', { deep: [{ leaky }], count: 3n, at: new Date(0), error: new Error(leaky) });
      throw new Error(leaky);
    });
    await executor.run([id], [work]);
    expectHidden(JSON.stringify(executor.lines));
    expect(executor.lines[0]).toMatchObject({ count: '3', map: [[expect.any(String), { a: 1, self: '[circular]' }]] });
    expect(executor.lines[1]).toMatchObject({ message: 'sound', count: '3', at: '1970-01-01T00:00:00.000Z', executionId: String(id) });
    expect(executor.lines).toHaveLength(3);
  });

  it('a text made to be slow to search is searched in no time', async () => {
    const startedAt = performance.now();
    await recordThrown(new Error('://a:'.repeat(200_000)));
    await recordThrown(new Error('a.'.repeat(2_000_000)));
    expect(performance.now() - startedAt).toBeLessThan(5_000);
  });
});

describe('input', () => {
  const validatedBy = (validate: (value: unknown) => unknown, run: AnyWorkflow['run'] = () => 'ran'): AnyWorkflow => ({
    ...workflowNamed('work', run),
    input: { '~standard': { version: 1, vendor: 'test', validate } },
  });

  it('that the schema refuses is dead-lettered at once, with the places named', async () => {
    const id = await executor.plant({ max_attempts: 5 });
    const issues = [{ message: 'too small', path: ['rows', { key: 0 }] }, ...Array.from({ length: 11 }, () => ({ message: 'wrong' }))];
    const { ended } = await executor.run([id], [validatedBy(() => ({ issues }))]);
    expect(ended).toMatchObject([{ state: 'failed', failureCode: 'invalid_input', next: 'dead_letter' }]);
    expect((await executor.row(id)).failure_message).toMatch(/^the input is invalid: rows\.0: too small; (wrong; ){9}and 2 more$/);
  });

  it.each<[string, () => unknown]>([
    [
      'throws',
      () => {
        throw new Error('broken validator');
      },
    ],
    ['rejects', () => Promise.reject(new Error('broken validator'))],
  ])('whose validator %s fails the run, which is tried again', async (_, validate) => {
    const id = await executor.plant({ max_attempts: 5 });
    const { ended } = await executor.run([id], [validatedBy(validate)]);
    expect(ended).toMatchObject([{ state: 'failed', failureCode: 'thrown', failureMessage: 'broken validator', next: 'retry' }]);
  });

  it('whose validator never settles fails the run at its timeout', async () => {
    const id = await executor.plant({ timeout_seconds: 1 });
    const { ended } = await executor.run([id], [validatedBy(() => new Promise(() => {}))], { timings: { graceMs: 10 } });
    expect(ended).toMatchObject([{ state: 'failed', failureCode: 'timeout' }]);
  });

  it('whose validator settles after the run is over does not start it', async () => {
    const id = await executor.plant();
    const late = Promise.withResolvers<{ value: unknown }>();
    let isStarted = false;
    const run = () => {
      isStarted = true;
    };
    const { ended } = await executor.run([id], [validatedBy(() => late.promise, run)], { remainingMs: 300 });
    expect(ended).toMatchObject([{ failureCode: 'deadline' }]);
    late.resolve({ value: {} });
    await late.promise;
    await new Promise(setImmediate);
    expect(isStarted).toBe(false);
  });
});
