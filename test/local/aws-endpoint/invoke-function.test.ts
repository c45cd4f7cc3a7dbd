import { InvokeCommand, LambdaClient, ListFunctionsCommand } from '@aws-sdk/client-lambda';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Refusal } from '../../../local/aws-endpoint/aws-call.ts';
import { LocalSecretStore } from '../../../local/aws-endpoint/local-secret-store.ts';
import { startAwsEndpoint } from '../../../local/aws-endpoint/start-aws-endpoint.ts';
import type { Problem } from '../../../local/events/problem.ts';
import type { Statement } from '../../../local/iam/evaluate.ts';
import { startAsyncInvocations } from '../../../local/lambda/async-invocations.ts';
import type { FunctionSettings } from '../../../local/lambda/function-settings.ts';
import { openGate, startFunction } from '../lambda/lambda-fixture.ts';

const region = 'us-east-1';
const account = '000000000000';
const arn = `arn:aws:lambda:${region}:${account}:function:activator`;
const roleArn = `arn:aws:iam::${account}:role/Importer`;
const mayInvoke: Statement = { Effect: 'Allow', Action: 'lambda:InvokeFunction', Resource: arn };
const echo = 'export const handler = async (event) => ({ got: event });';
const bytes = (value: unknown) => Buffer.from(JSON.stringify(value));

/** A function of the stack that others may invoke, and the client that one of them has. */
async function start(source: string, statements: Statement[] = [mayInvoke], settings: Partial<FunctionSettings> = {}) {
  const refusals: Refusal[] = [];
  const problems: Problem[] = [];
  const { lambda } = await startFunction(source, settings);
  const asyncInvocations = startAsyncInvocations((problem) => problems.push(problem));
  onTestFinished(() => asyncInvocations.stop());
  const endpoint = await startAwsEndpoint({
    region,
    account,
    callers: () => new Map([['LOCALIMPORTER', { name: 'Importer', roleArn, statements }]]),
    sqsUrl: 'http://127.0.0.1:1',
    secrets: new LocalSecretStore({ region, account }),
    lambda: { functions: () => new Map([[arn, { displayName: 'Jobs/Activator', lambda }]]), asyncInvocations },
    onRefused: (refusal) => refusals.push(refusal),
  });
  onTestFinished(() => endpoint.close());
  const client = new LambdaClient({
    region,
    endpoint: endpoint.url,
    maxAttempts: 1,
    credentials: { accessKeyId: 'LOCALIMPORTER', secretAccessKey: 'unused' },
  });
  onTestFinished(() => client.destroy());
  return { client, refusals, problems, asyncInvocations };
}

describe('a function that waits for the answer', () => {
  test.each([
    ['its name', 'activator'],
    ['its ARN', arn],
    ['its partial ARN', `${account}:function:activator`],
  ])('invokes another by %s and gets what its handler returned', async (_, FunctionName) => {
    const { client, refusals } = await start(echo);
    const answer = await client.send(new InvokeCommand({ FunctionName, Payload: bytes({ text: 'é\u2028' }) }));
    expect(answer).toMatchObject({ StatusCode: 200, ExecutedVersion: '$LATEST' });
    expect(answer.FunctionError).toBeUndefined();
    expect(JSON.parse(answer.Payload!.transformToString())).toEqual({ got: { text: 'é\u2028' } });
    expect(refusals).toEqual([]);
  });

  test('without a payload sends an empty event', async () => {
    const { client } = await start(echo);
    const { Payload } = await client.send(new InvokeCommand({ FunctionName: 'activator' }));
    expect(JSON.parse(Payload!.transformToString())).toEqual({ got: {} });
  });

  test('is told that the handler threw, and what', async () => {
    const { client } = await start('export const handler = async () => { throw new RangeError("too much"); };');
    const { StatusCode, FunctionError, Payload } = await client.send(new InvokeCommand({ FunctionName: 'activator' }));
    expect([StatusCode, FunctionError]).toEqual([200, 'Unhandled']);
    expect(JSON.parse(Payload!.transformToString())).toMatchObject({ errorType: 'RangeError', errorMessage: 'too much' });
  });

  test('is throttled when the other is busy', async () => {
    const gate = await openGate();
    const { client } = await start(`export const handler = async () => { await fetch('${gate.url}'); };`, [mayInvoke], {
      maxConcurrency: 1,
    });
    const first = client.send(new InvokeCommand({ FunctionName: 'activator' }));
    await gate.arrivals(1);
    await expect(client.send(new InvokeCommand({ FunctionName: 'activator' }))).rejects.toMatchObject({
      name: 'TooManyRequestsException',
      $metadata: { httpStatusCode: 429 },
    });
    gate.letGo();
    expect((await first).StatusCode).toBe(200);
  });
});

describe('a function that does not wait', () => {
  const event = new InvokeCommand({ FunctionName: 'activator', InvocationType: 'Event', Payload: bytes({ n: 1 }) });

  test('has its event accepted before the other has answered it', async () => {
    const gate = await openGate();
    const { client } = await start(`export const handler = async ({ n }) => { await fetch('${gate.url}/' + n); };`);
    expect(await client.send(event)).toMatchObject({ StatusCode: 202 });
    expect(await gate.arrivals(1)).toEqual(['/1']);
    gate.letGo();
  });

  test('has it delivered as soon as the other has room', async () => {
    const gate = await openGate();
    const { client, problems } = await start(`export const handler = async () => { await fetch('${gate.url}'); };`, [mayInvoke], {
      maxConcurrency: 1,
    });
    await client.send(event);
    await gate.arrivals(1);
    await client.send(event);
    gate.letGo();
    await gate.arrivals(1);
    gate.letGo();
    expect(problems).toEqual([]);
  });

  test('learns nothing of a failure, but the developer does', async () => {
    const { client, problems, asyncInvocations } = await start('export const handler = async () => { throw new Error("no"); };');
    expect(await client.send(event)).toMatchObject({ StatusCode: 202 });
    await expect
      .poll(() => problems, { timeout: 10_000 })
      .toEqual([{ source: 'Jobs/Activator', message: 'an asynchronous invocation failed and is not repeated: Error: no' }]);
    await asyncInvocations.stop();
  });
});

test('a dry run asks only for the permission', async () => {
  const { client } = await start('throw new Error("never loaded");');
  expect(await client.send(new InvokeCommand({ FunctionName: 'activator', InvocationType: 'DryRun' }))).toMatchObject({ StatusCode: 204 });
});

describe('is refused, as AWS would,', () => {
  const invoke = { FunctionName: 'activator' };

  test.each<[string, Statement[]]>([
    ['no policy allows it', []],
    ['a policy allows another function', [{ ...mayInvoke, Resource: `${arn}-2` }]],
    ['a policy allows another action', [{ ...mayInvoke, Action: 'lambda:GetFunction' }]],
  ])('when %s', async (_, statements) => {
    const { client, refusals } = await start(echo, statements);
    for (const InvocationType of ['RequestResponse', 'Event', 'DryRun'] as const) {
      await expect(client.send(new InvokeCommand({ ...invoke, InvocationType }))).rejects.toMatchObject({
        name: 'AccessDeniedException',
        message: expect.stringContaining(
          `User: ${roleArn} (function Importer) is not authorized to perform: lambda:InvokeFunction on resource: ${arn}`,
        ),
      });
    }
    expect(refusals).toEqual(
      Array(3).fill({ functionName: 'Importer', action: 'lambda:InvokeFunction', resource: arn, reason: 'implicit' }),
    );
  });

  test('when a policy forbids it', async () => {
    const { client } = await start(echo, [mayInvoke, { ...mayInvoke, Effect: 'Deny' }]);
    await expect(client.send(new InvokeCommand(invoke))).rejects.toThrow('with an explicit deny');
  });

  test('when a version is named and only the function itself is allowed', async () => {
    const { client } = await start(echo);
    await expect(client.send(new InvokeCommand({ ...invoke, Qualifier: '3' }))).rejects.toThrow(`on resource: ${arn}:3`);
  });

  test.each([
    ['nobody', undefined],
    ['activator', 'live'],
  ])('when the function %s with qualifier %s does not exist', async (FunctionName, Qualifier) => {
    const { client } = await start(echo, [{ ...mayInvoke, Resource: '*' }]);
    await expect(client.send(new InvokeCommand({ FunctionName, Qualifier }))).rejects.toMatchObject({
      name: 'ResourceNotFoundException',
      $metadata: { httpStatusCode: 404 },
    });
  });

  test('when the account is another', async () => {
    const { client } = await start(echo, [{ ...mayInvoke, Resource: '*' }]);
    const foreign = new InvokeCommand({ FunctionName: arn.replace(account, '111111111111') });
    await expect(client.send(foreign)).rejects.toMatchObject({ name: 'ResourceNotFoundException' });
  });

  test('when the payload is no JSON, or too large', async () => {
    const { client } = await start(echo);
    await expect(client.send(new InvokeCommand({ ...invoke, Payload: Buffer.from('{') }))).rejects.toMatchObject({
      name: 'InvalidRequestContentException',
    });
    const large = { ...invoke, Payload: bytes('x'.repeat(1024 * 1024)) };
    expect(await client.send(new InvokeCommand(large))).toMatchObject({ StatusCode: 200 });
    await expect(client.send(new InvokeCommand({ ...large, InvocationType: 'Event' }))).rejects.toMatchObject({
      name: 'RequestTooLargeException',
    });
    const larger = { ...invoke, Payload: bytes('x'.repeat(6 * 1024 * 1024)) };
    await expect(client.send(new InvokeCommand(larger))).rejects.toMatchObject({ name: 'RequestTooLargeException' });
  });

  test('when another action is called, naming it', async () => {
    const { client, refusals } = await start(echo, [{ Effect: 'Allow', Action: '*', Resource: '*' }]);
    await expect(client.send(new ListFunctionsCommand({}))).rejects.toMatchObject({ name: 'NotImplemented' });
    expect(refusals).toMatchObject([{ functionName: 'Importer', reason: 'not_emulated' }]);
  });
});
