import { EventEmitter, on } from 'node:events';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { readDatabaseUrl } from '../../functions/middleware/database.ts';
import { createActivationClient } from '../../shared/client/activation-client.ts';
import type { ExecutionId } from '../../shared/model/ids.ts';
import { createLogger } from '../../shared/observability/log.ts';
import { createSqsDoorbell } from '../../shared/queue/sqs-doorbell.ts';
import { readSecret } from '../../shared/workflows/read-secret.ts';
import { startServer } from '../workflows/start-server.ts';

const asked = new EventEmitter();
const silent = createLogger('test', () => {});

/** Accepts every connection, reads every request and never answers. */
beforeEach(async () => {
  const { url } = await startServer(() => asked.emit('request'));
  vi.stubEnv('AWS_ENDPOINT_URL', url);
  vi.stubEnv('AWS_REGION', 'us-east-1');
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'test');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'test');
  vi.stubEnv('WAYBILL_DATABASE_SECRET_ID', 'database');
  vi.stubEnv('WAYBILL_WAKE_QUEUE_URL', `${url}/000000000000/wake`);
  // The pause between two tries passes by itself; what a request may take is made to pass when it has arrived.
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'], shouldAdvanceTime: true });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllEnvs();
});

const told = { executionId: '1', leaseToken: 'token', key: 'key', activations: [{ externalId: 'dormant', input: {} }] };
const bell = { executionId: 1 as ExecutionId, queueUrl: 'http://queue/default' };
const failed = expect.objectContaining({ name: 'TimeoutError' });

it.each<[what: string, seconds: number, ask: () => Promise<unknown>, answer: unknown]>([
  ['a poke is given up and told as not sent', 5, () => createSqsDoorbell(silent).pokeManager(), false],
  ['bells are given up and none is told as accepted', 5, () => createSqsDoorbell(silent).ringExecutions([bell]), []],
  ["the database's secret is given up", 5, () => readDatabaseUrl().catch((error) => error), failed],
  [
    "a workflow's secret is given up, to be tried again by another attempt",
    10,
    () => readSecret('token', new AbortController().signal).catch((error) => error),
    expect.objectContaining({ code: 'secret_not_readable', retryable: true }),
  ],
  [
    'an activation is given up',
    70,
    () =>
      createActivationClient({ functionName: 'activator' })
        .activateMany(told)
        .catch((error) => error),
    failed,
  ],
])('a service that accepts and stays silent holds nobody: after two tries %s', { timeout: 10_000 }, async (_, seconds, ask, answer) => {
  const requests = on(asked, 'request');
  const answered = ask();
  for (let tries = 0; tries < 2; tries++) {
    await requests.next();
    await vi.advanceTimersByTimeAsync(seconds * 1_000);
  }
  expect(await answered).toEqual(answer);
});
