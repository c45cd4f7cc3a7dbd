import { describe, expect, test } from 'vitest';
import { errorOf, payloadOf, startFunction } from './lambda-fixture.ts';

describe('what a handler returns', () => {
  test('is the payload', async () => {
    const { lambda } = await startFunction('export const handler = async (event) => ({ doubled: event.number * 2, text: "é\\u2028" });');
    expect(await lambda.invoke({ number: 21 })).toEqual({ status: 'succeeded', payload: { doubled: 42, text: 'é\u2028' } });
  });

  test('is null when it is nothing', async () => {
    const { lambda } = await startFunction('export const handler = async () => {};');
    expect(await lambda.invoke({})).toEqual({ status: 'succeeded', payload: null });
  });

  test('may come from a handler that is not async, in a nested CommonJS file, under a nested export', async () => {
    const files = { 'api/index.cjs': 'exports.routes = { list: (event) => [event] };' };
    const { lambda } = await startFunction(files, { handler: 'api/index.routes.list' });
    expect(payloadOf(await lambda.invoke('first'))).toEqual(['first']);
  });

  test('fails the invocation but not the process when it is not JSON', async () => {
    const source = `
      let count = 0;
      export const handler = async (kind) => {
        count += 1;
        const cycle = {};
        cycle.self = cycle;
        return { cycle, bigint: 1n, function: () => 1, count }[kind];
      };`;
    const { lambda } = await startFunction(source);
    for (const kind of ['cycle', 'bigint', 'function']) {
      expect(errorOf(await lambda.invoke(kind))).toMatchObject({
        errorType: 'Runtime.JSONStringifyError',
        errorMessage: expect.stringContaining('not JSON'),
      });
    }
    expect(payloadOf(await lambda.invoke('count'))).toBe(4);
  });

  test('may have six mebibytes and not a byte more', async () => {
    const limit = 6 * 1024 * 1024;
    const { lambda } = await startFunction('export const handler = async (size) => "x".repeat(size - 2);');
    expect(payloadOf<string>(await lambda.invoke(limit))).toHaveLength(limit - 2);
    expect(errorOf(await lambda.invoke(limit + 1)).errorType).toBe('Function.ResponseSizeTooLarge');
    expect(payloadOf(await lambda.invoke(3))).toBe('x');
  });
});

test('an event may have six mebibytes and not a byte more', async () => {
  const limit = 6 * 1024 * 1024;
  const { lambda } = await startFunction('export const handler = async (event) => event.length;');
  expect(payloadOf(await lambda.invoke('x'.repeat(limit - 2)))).toBe(limit - 2);
  expect(errorOf(await lambda.invoke('x'.repeat(limit - 1))).errorType).toBe('RequestEntityTooLarge');
});

test('the context names function, request and deadline', async () => {
  const source = `
    export const handler = async (event, context) => {
      const remaining = context.getRemainingTimeInMillis();
      return { ...context, remaining, trace: process.env._X_AMZN_TRACE_ID };
    };`;
  const { lambda, settings } = await startFunction(source, { timeoutSeconds: 20 });
  const context = payloadOf<Record<string, unknown>>(await lambda.invoke({}));
  expect(context).toMatchObject({
    awsRequestId: expect.stringMatching(/^[0-9a-f-]{36}$/),
    functionName: 'example',
    functionVersion: '$LATEST',
    invokedFunctionArn: settings.arn,
    memoryLimitInMB: '256',
    logGroupName: '/aws/lambda/example',
    logStreamName: expect.stringContaining('[$LATEST]'),
    callbackWaitsForEmptyEventLoop: true,
    trace: expect.stringMatching(/^Root=1-/),
  });
  expect(context.remaining).toBeGreaterThan(15_000);
  expect(context.remaining).toBeLessThanOrEqual(20_000);
});

describe('what a handler throws', () => {
  test('is reported with type, message and stack', async () => {
    const { lambda } = await startFunction('export const handler = async () => { throw new RangeError("too far"); };');
    const error = errorOf(await lambda.invoke({}));
    expect(error).toMatchObject({ errorType: 'RangeError', errorMessage: 'too far' });
    expect(error.stackTrace?.join('\n')).toContain('index.mjs');
  });

  test.each([
    ['undefined', 'undefined', 'undefined'],
    ['null', 'null', 'null'],
    ['"a text"', 'string', 'a text'],
    ['{ reason: 7 }', 'object', '{ reason: 7 }'],
    ['Object.assign({}, { self: globalThis.cycle })', 'object', expect.stringContaining('Circular')],
    ['{ get stack() { throw 1; } }', 'Error', expect.stringContaining('cannot be described')],
  ])('is reported when it is %s', async (thrown, errorType, errorMessage) => {
    const source = `globalThis.cycle = {}; cycle.self = cycle; let count = 0;
      export const handler = async (event) => { count += 1; if (event.fail) throw ${thrown}; return count; };`;
    const { lambda } = await startFunction(source);
    expect(errorOf(await lambda.invoke({ fail: true }))).toEqual({ errorType, errorMessage, stackTrace: [] });
    expect(payloadOf(await lambda.invoke({}))).toBe(2);
  });
});

describe('log lines', () => {
  test('are whole, complete before the result, and carry the request they belong to', async () => {
    const source = `
      console.log('loading');
      export const handler = async (event, context) => {
        process.stdout.write('one ');
        process.stdout.write(event + '\\ntwo\\n');
        console.error('to stderr');
        process.stdout.write('no line end');
        return context.awsRequestId;
      };`;
    const { lambda, logs } = await startFunction(source);
    for (const event of ['first', 'second']) {
      const requestId = payloadOf<string>(await lambda.invoke(event));
      const ours = logs.filter((line) => line.requestId === requestId);
      expect(ours.filter((line) => line.stream === 'stdout').map((line) => line.text)).toEqual([`one ${event}`, 'two', 'no line end']);
      expect(ours.filter((line) => line.stream === 'stderr').map((line) => line.text)).toEqual(['to stderr']);
      expect(ours[0]).toMatchObject({ functionName: 'example', processId: expect.any(Number) });
    }
    expect(logs.filter((line) => line.requestId === undefined).map((line) => line.text)).toEqual(['loading']);
  });

  test('all arrive before the process is frozen, however much was written', async () => {
    const source = `export const handler = async (count) => {
      for (let index = 0; index < count; index += 1) console.log(index + 'x'.repeat(1000));
    };`;
    const { lambda, logs } = await startFunction(source);
    payloadOf(await lambda.invoke(3000));
    expect(logs).toHaveLength(3000);
    expect(logs.at(-1)?.text.startsWith('2999x')).toBe(true);
  });
});
