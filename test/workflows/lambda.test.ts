import { describe, expect, it, vi } from 'vitest';
import { lambda } from '../../shared/workflows/index.ts';
import { openGate } from '../local/lambda/lambda-fixture.ts';
import { startAccount } from './start-account.ts';
import { answerJson, startServer } from './start-server.ts';
import { useBuiltIn } from './use-built-in.ts';

const world = useBuiltIn(lambda);
const echo = 'export const handler = async (event) => ({ got: event });';

describe('a function', () => {
  it.each([
    ['its name', 'open'],
    ['its ARN', 'arn:aws:lambda:us-east-1:000000000000:function:open'],
  ])('is invoked by %s with the payload, and what it returns is the output', async (_, functionName) => {
    await startAccount(echo);
    expect(await world.run({ functionName, payload: { n: 1, text: 'é' } })).toMatchObject({
      state: 'completed',
      output: { status: 200, payload: { got: { n: 1, text: 'é' } }, isTruncated: false },
    });
  });

  it('gets an empty event if there is no payload, and may return nothing', async () => {
    await startAccount('export const handler = async (event) => { if (Object.keys(event).length) throw new Error("not empty"); };');
    expect(await world.run({ functionName: 'open' })).toMatchObject({ state: 'completed', output: { payload: null, isTruncated: false } });
  });

  it('that returns more than can be kept has run all the same', async () => {
    await startAccount('export const handler = async () => "x".repeat(300_000);');
    expect(await world.run({ functionName: 'open' })).toMatchObject({ state: 'completed', output: { payload: null, isTruncated: true } });
  });

  it('that throws fails the attempt, in its own words', async () => {
    await startAccount('export const handler = async () => { throw new RangeError("too much"); };');
    expect(await world.run({ functionName: 'open' })).toMatchObject({
      state: 'failed',
      next: 'retry',
      failure_message: "function 'open' failed: RangeError: too much",
    });
  });

  it('that throws a NonRetryableError dead-letters the run', async () => {
    await startAccount(
      'class NonRetryableError extends Error { name = "NonRetryableError" }; export const handler = async () => { throw new NonRetryableError("never"); };',
    );
    expect(await world.run({ functionName: 'open' })).toMatchObject({
      next: 'dead_letter',
      failure_message: "function 'open' failed: NonRetryableError: never",
    });
  });

  it('that takes too long fails the attempt', async () => {
    await startAccount('export const handler = () => new Promise((resolve) => setTimeout(resolve, 60_000));', { timeoutSeconds: 1 });
    expect(await world.run({ functionName: 'open' })).toMatchObject({
      next: 'retry',
      failure_message: expect.stringMatching(/^function 'open' failed: .*1\.00 seconds/),
    });
  });

  it('that is busy fails the attempt, and succeeds in the next', async () => {
    const gate = await openGate();
    await startAccount(`export const handler = async ({ wait }) => { if (wait) await fetch('${gate.url}'); };`, { maxConcurrency: 1 });
    await world.run({ functionName: 'open', payload: { wait: true }, invocationType: 'Event' });
    await gate.arrivals(1);
    expect(await world.run({ functionName: 'open' })).toMatchObject({
      next: 'retry',
      failure_message: expect.stringContaining('TooManyRequestsException'),
    });
    gate.letGo();
    await expect
      .poll(
        async () => {
          world.clock.advance(3600);
          return world.goOn();
        },
        { timeout: 10_000 },
      )
      .toMatchObject({ state: 'completed' });
  });

  it.each([
    ['does not exist', 'open-nobody', 'ResourceNotFoundException'],
    ['may not be invoked', 'closed', "grant it with fn.grantInvoke(jobs.pool('…'))"],
  ])('that %s dead-letters the run', async (_, functionName, message) => {
    await startAccount(echo);
    expect(await world.run({ functionName })).toMatchObject({ next: 'dead_letter', failure_message: expect.stringContaining(message) });
  });

  it('that cannot be reached fails the attempt, after one try', async () => {
    await startAccount();
    vi.stubEnv('AWS_ENDPOINT_URL', 'http://127.0.0.1:1');
    expect(await world.run({ functionName: 'open' })).toMatchObject({
      next: 'retry',
      failure_message: expect.stringContaining('ECONNREFUSED'),
    });
  });
});

describe('an event', () => {
  it('is given to the function, and its end is not waited for', async () => {
    const gate = await openGate();
    await startAccount(`export const handler = async ({ n }) => { await fetch('${gate.url}/' + n); throw new Error('nobody hears'); };`);
    expect(await world.run({ functionName: 'open', payload: { n: 5 }, invocationType: 'Event' })).toMatchObject({
      state: 'completed',
      output: { status: 202, payload: null, isTruncated: false },
    });
    expect(await gate.arrivals(1)).toEqual(['/5']);
    gate.letGo();
  });
});

describe('an invocation', () => {
  /** What the SDK sends, and what Lambda could answer that the local cloud does not. */
  async function startLambda(status: number, headers: Record<string, string> = {}) {
    await startAccount();
    const server = await startServer((response) => answerJson(response, { Message: 'not now' }, status, headers));
    vi.stubEnv('AWS_ENDPOINT_URL', server.url);
    return server;
  }

  it('tells the function the key of the run', async () => {
    const server = await startLambda(200);
    await world.run({ functionName: 'open', qualifier: 'live', payload: [1] });
    expect(server.received).toMatchObject([{ method: 'POST', path: '/2015-03-31/functions/open/invocations?Qualifier=live', body: '[1]' }]);
    const context = Buffer.from(String(server.received[0]!.headers['x-amz-client-context']), 'base64').toString();
    expect(JSON.parse(context)).toEqual({ custom: { idempotencyKey: expect.stringMatching(/^waybill-run-\d+$/) } });
  });

  it('ends when the run is over its time, and its connection with it', async () => {
    const { promise: closed, resolve } = Promise.withResolvers<void>();
    await startAccount();
    const server = await startServer((response) => response.on('close', resolve));
    vi.stubEnv('AWS_ENDPOINT_URL', server.url);
    expect(await world.run({ functionName: 'open' }, { timeoutSeconds: 1 })).toMatchObject({ state: 'failed', failure_code: 'timeout' });
    await closed;
  });

  it.each([
    [409, 'ResourceConflictException', 'retry'],
    [429, 'TooManyRequestsException', 'retry'],
    [500, 'ServiceException', 'retry'],
    [502, 'EC2UnexpectedException', 'retry'],
    [400, 'InvalidParameterValueException', 'dead_letter'],
    [413, 'RequestTooLargeException', 'dead_letter'],
  ])('that is answered with %i %s is sent once, and then: %s', async (status, name, next) => {
    const server = await startLambda(status, { 'x-amzn-errortype': name });
    expect(await world.run({ functionName: 'open' })).toMatchObject({
      next,
      failure_message: expect.stringContaining(`could not be invoked: ${name}: not now`),
    });
    expect(server.received).toHaveLength(1);
  });
});
