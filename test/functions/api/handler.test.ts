import type { AddressInfo } from 'node:net';
import { createServer, type Socket } from 'node:net';
import type { Context } from 'aws-lambda';
import { afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { plantIn } from '../../operations/plant.ts';
import { useDatabase } from '../../support/database.ts';
import { useAws } from '../use-aws.ts';
import { type HttpRequest, httpEvent } from './http-event.ts';
import { type Reply, toReply } from './use-api.ts';

const database = useDatabase();
const aws = useAws();
const lines: string[] = [];

beforeAll(() => {
  vi.stubEnv('WAYBILL_DISPATCH_QUEUE_URL', 'https://sqs.eu-west-1.amazonaws.com/123456789012/dispatch');
});
beforeEach(() => {
  lines.length = 0;
  vi.spyOn(process.stdout, 'write').mockImplementation((line) => lines.push(String(line)) > 0);
});
afterEach(() => {
  vi.restoreAllMocks();
});

/** A process that has just started: nothing is remembered from the test before. */
async function startProcess(
  databaseUrl: string,
): Promise<(path: string, remainingMilliseconds?: number, request?: HttpRequest) => Promise<Reply>> {
  aws.secret = { status: 200, body: { SecretString: databaseUrl } };
  vi.resetModules();
  const { handler } = await import('../../../functions/api/handler.ts');
  return async (path, remainingMilliseconds = 30_000, request = {}) => {
    const context = { awsRequestId: 'invocation-1', getRemainingTimeInMillis: () => remainingMilliseconds } as Context;
    return toReply(await handler(httpEvent(path, request), context as Parameters<typeof handler>[1]));
  };
}

it('answers over the database that the secret names', async () => {
  const get = await startProcess(database.url);
  expect(await get('/v1/health')).toMatchObject({ status: 200, json: { status: 'ok' } });
  expect(await get('/')).toMatchObject({ status: 200, headers: { 'content-type': 'text/html; charset=utf-8' } });
});

it('does what it is asked and rings the bell that the stack named, and does not log a refusal as an error', async () => {
  const ask = await startProcess(database.url);
  await plantIn(database.pool).manifest('job');
  expect(await ask('/v1/manifests/job/trigger', 30_000, { method: 'POST' })).toMatchObject({ status: 202, json: { outcome: 'queued' } });
  expect(aws.sent).toEqual([{ QueueUrl: process.env.WAYBILL_DISPATCH_QUEUE_URL, MessageBody: '{"v":1}', DelaySeconds: 0 }]);
  expect(await ask('/v1/manifests/unknown/trigger', 30_000, { method: 'POST' })).toMatchObject({ status: 404 });
  expect(lines).toEqual([]);
});

it('answers 503 and logs a warning when the database cannot be reached', async () => {
  const get = await startProcess('postgres://waybill:hunter2@127.0.0.1:1/waybill');
  const reply = await get('/v1/health');
  expect(reply).toMatchObject({
    status: 503,
    headers: { 'retry-after': '5' },
    json: { code: 'database_unavailable', requestId: 'request-1' },
  });
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({ level: 'warn', source: 'api', requestId: 'request-1' });
  expect(lines.join()).not.toContain('hunter2');
});

it('answers 500 without details when the secret cannot be read, and recovers once it can', async () => {
  const get = await startProcess(database.url);
  aws.secret = { status: 400, body: { __type: 'AccessDeniedException', message: 'role x may not read secret y' } };
  const reply = await get('/v1/health');
  expect(reply).toMatchObject({ status: 500, json: { code: 'internal_error' } });
  expect(reply.text).not.toContain('role x');
  aws.secret = { status: 200, body: { SecretString: database.url } };
  expect(await get('/v1/health')).toMatchObject({ status: 200 });
});

it('answers 503 before its deadline when the database accepts the connection and stays silent', async () => {
  const silent = createServer();
  const sockets = new Set<Socket>();
  silent.on('connection', (socket) => sockets.add(socket));
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  const get = await startProcess(`postgres://waybill:x@127.0.0.1:${(silent.address() as AddressInfo).port}/waybill`);
  expect(await get('/v1/health', 400)).toMatchObject({ status: 503, headers: { 'retry-after': '5' }, json: { code: 'timed_out' } });
  for (const socket of sockets) socket.destroy();
  await new Promise((resolve) => silent.close(resolve));
});

it('answers a relation that is missing as an internal error that names it only in the log', async () => {
  await database.pool.query('alter table waybill.scheduler_state rename to misplaced');
  const get = await startProcess(database.url);
  const reply = await get('/v1/health');
  await database.pool.query('alter table waybill.misplaced rename to scheduler_state');
  expect(reply).toMatchObject({ status: 500, json: { code: 'internal_error' } });
  expect(reply.text).not.toContain('scheduler_state');
  expect(lines.join()).toContain('scheduler_state');
});
