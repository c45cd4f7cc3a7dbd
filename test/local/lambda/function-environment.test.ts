import { expect, onTestFinished, test } from 'vitest';
import { payloadOf, startFunction } from './lambda-fixture.ts';

const tellEnvironment = 'export const handler = async () => ({ ...process.env, cwd: process.cwd() });';

test('the environment of the template arrives beside what Lambda gives, and cannot replace it', async () => {
  const environment = { QUEUE_URL: 'http://127.0.0.1/queue', TZ: 'Europe/London', AWS_REGION: 'us-east-1', _HANDLER: 'other.handler' };
  const { lambda, settings } = await startFunction(tellEnvironment, { environment });
  expect(payloadOf(await lambda.invoke({}))).toMatchObject({
    QUEUE_URL: 'http://127.0.0.1/queue',
    TZ: 'Europe/London',
    AWS_REGION: 'eu-west-1',
    AWS_DEFAULT_REGION: 'eu-west-1',
    AWS_ENDPOINT_URL: 'http://127.0.0.1:4566',
    AWS_ACCESS_KEY_ID: 'AKIAEXAMPLE',
    AWS_SECRET_ACCESS_KEY: expect.any(String),
    AWS_SESSION_TOKEN: expect.any(String),
    AWS_LAMBDA_FUNCTION_NAME: 'example',
    AWS_LAMBDA_FUNCTION_VERSION: '$LATEST',
    AWS_LAMBDA_FUNCTION_MEMORY_SIZE: '256',
    LAMBDA_TASK_ROOT: settings.codeDirectory,
    _HANDLER: 'index.handler',
    cwd: settings.codeDirectory,
  });
});

test('nothing of the environment in which the local cloud was started is visible', async () => {
  process.env.WAYBILL_TEST_SECRET = 'do not tell';
  onTestFinished(() => {
    delete process.env.WAYBILL_TEST_SECRET;
  });
  const { lambda } = await startFunction(tellEnvironment);
  const seen = payloadOf<Record<string, string>>(await lambda.invoke({}));
  expect(JSON.stringify(seen)).not.toContain('do not tell');
  expect(Object.keys(seen).filter((name) => !/^(AWS_|LAMBDA_|_HANDLER$|_X_AMZN|LANG$|PATH$|TZ$|HOME$|cwd$)/.test(name))).toEqual([]);
  expect(seen.HOME).not.toBe(process.env.HOME);
});

test('the memory of the function bounds its heap', async () => {
  const source = `import { getHeapStatistics } from 'node:v8';
    export const handler = async () => getHeapStatistics().heap_size_limit / 1024 / 1024;`;
  const small = await startFunction(source, { memoryMegabytes: 256 });
  const large = await startFunction(source, { memoryMegabytes: 1024 });
  const [smallHeap, largeHeap] = [payloadOf<number>(await small.lambda.invoke({})), payloadOf<number>(await large.lambda.invoke({}))];
  expect(smallHeap).toBeLessThan(512);
  expect(largeHeap - smallHeap).toBeGreaterThan(600);
});
