import { expect, it } from 'vitest';
import type { Database } from '../../../shared/db/database.ts';
import { openDatabase } from '../../../shared/db/database.ts';
import { createLogger } from '../../../shared/observability/log.ts';
import { plantIn } from '../../operations/plant.ts';
import { useDatabase } from '../../support/database.ts';
import { ask, useApi } from './use-api.ts';

const server = useDatabase();
const api = useApi(server);

it('health tells the time, the version, the schema and the last cycle, and is never cached', async () => {
  await server.pool.query("update waybill.scheduler_state set last_cycle_at = '2026-01-01T00:00:00Z', last_cycle = '{\"dueCount\": 2}'");
  const reply = await api.get('/v1/health');
  expect(reply.status).toBe(200);
  expect(reply.headers).toMatchObject({
    'content-type': 'application/json',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  });
  expect(reply.json).toEqual({
    status: 'ok',
    now: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
    version: expect.stringMatching(/^\d+\.\d+\.\d+/),
    schema: expect.stringMatching(/^\d{4}-.*\.sql$/),
    lastCycleAt: '2026-01-01T00:00:00.000Z',
    lastCycle: { dueCount: 2 },
  });
});

it('a live answer is sent again only after it changed', async () => {
  const plant = plantIn(server.pool);
  await plant.manifest('tagged');
  for (const path of ['/v1/manifests', '/v1/manifests/tagged']) {
    const first = await api.get(path);
    expect(first.headers['cache-control']).toBe('private, no-cache');
    const tag = String(first.headers.etag);
    for (const known of [tag, `W/${tag}`, `"other", ${tag}`, '*']) {
      const again = await api.get(path, { headers: { 'if-none-match': known } });
      expect(again).toMatchObject({ status: 304, text: undefined, headers: { etag: tag } });
    }
    await server.pool.query("update waybill.manifest set priority = priority + 1 where external_id = 'tagged'");
    const changed = await api.get(path, { headers: { 'if-none-match': tag } });
    expect(changed.status).toBe(200);
    expect(changed.headers.etag).not.toBe(tag);
  }
});

it('markup in a failure message is returned as JSON text that no browser takes for a page', async () => {
  const message = '<img src=x onerror=alert(1)></script><script>alert(2)</script>\u2028\u0001"';
  const id = await plantIn(server.pool).execution({
    state: 'failed',
    failure_code: 'error',
    failure_message: message,
    finished_at: new Date(),
  });
  for (const path of ['/v1/executions', `/v1/executions/${id}`]) {
    const reply = await api.get(path);
    expect(reply.headers).toMatchObject({ 'content-type': 'application/json', 'x-content-type-options': 'nosniff' });
    expect((reply.json.items?.[0] ?? reply.json).failure.message).toBe(message);
  }
});

it.each([
  ['/v1/nothing', 'route_not_found'],
  ['/v1', 'route_not_found'],
  ['/v1/manifests/', 'route_not_found'],
  ['/v1/manifests/a/b', 'route_not_found'],
  ['/page/../handler.ts', 'route_not_found'],
  ['/v1/manifests/unknown', 'manifest_not_found'],
  ["/v1/manifests/x' or '1'='1", 'manifest_not_found'],
  ['/v1/manifests/\0', 'manifest_not_found'],
  ['/v1/executions/999999', 'execution_not_found'],
  ['/v1/executions/99999999999999999999', 'execution_not_found'],
  ['/v1/executions/abc', 'execution_not_found'],
])('%j is not found, as problem details with code %s', async (path, code) => {
  const reply = await api.get(path);
  expect(reply.status).toBe(404);
  expect(reply.headers['content-type']).toBe('application/problem+json');
  expect(reply.json).toEqual({
    type: 'about:blank',
    title: 'Not Found',
    status: 404,
    detail: expect.any(String),
    code,
    requestId: 'request-1',
  });
});

it('another method on a known path is refused, naming what is allowed', async () => {
  const reply = await api.get('/v1/manifests', { method: 'POST' });
  expect(reply).toMatchObject({
    status: 405,
    headers: { allow: 'GET, PUT' },
    json: { code: 'method_not_allowed', title: 'Method Not Allowed' },
  });
});

function failing(error: unknown): Database {
  const fail = () => Promise.reject(error);
  return { query: fail, transaction: fail, close: async () => {} };
}

it('an unexpected error reaches the log and not the client', async () => {
  const lines: string[] = [];
  const reply = await ask(
    failing(new Error('secret detail')),
    '/v1/health',
    {},
    createLogger('api', (line) => lines.push(line)),
  );
  expect(reply).toMatchObject({
    status: 500,
    headers: { 'cache-control': 'no-store' },
    json: { code: 'internal_error', requestId: 'request-1' },
  });
  expect(reply.text).not.toContain('secret');
  expect(lines).toHaveLength(1);
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({
    level: 'error',
    requestId: 'request-1',
    path: '/v1/health',
    error: { message: 'secret detail' },
  });
});

it('something thrown that is not an error is an internal error too', async () => {
  expect(await ask(failing(undefined), '/v1/health')).toMatchObject({ status: 500, json: { code: 'internal_error' } });
});

it('a database that refuses connections is unavailable, with the time to try again, while the page is still served', async () => {
  const database = openDatabase({ url: 'postgres://nobody:nothing@127.0.0.1:1/none' });
  const reply = await ask(database, '/v1/manifests');
  expect(reply).toMatchObject({ status: 503, headers: { 'retry-after': '5' }, json: { code: 'database_unavailable' } });
  expect(await ask(database, '/')).toMatchObject({ status: 200 });
  await database.close();
});
