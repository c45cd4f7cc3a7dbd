import { createHash } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createClient, every } from '../../shared/client/index.ts';
import { sql } from '../../shared/db/sql.ts';
import { useDatabase } from '../support/database.ts';
import { useEngine } from '../support/engine.ts';

const engine = useEngine();
const server = useDatabase();
let listening: Server | undefined;

afterEach(async () => {
  vi.unstubAllEnvs();
  await new Promise((resolve) => (listening ? listening.close(resolve) : resolve(undefined)));
  listening = undefined;
});

interface Asked {
  method: string | undefined;
  url: string | undefined;
  from: unknown;
  body: string;
}

/** Something that answers every request so, and what it was asked. */
async function answering(status: number, answer: string | ((body: string) => string)): Promise<{ url: string; asked: Asked[] }> {
  const asked: Asked[] = [];
  listening = createServer(async (request, response) => {
    const body = await text(request);
    asked.push({ method: request.method, url: request.url, from: request.headers['x-from'], body });
    response.writeHead(status, { 'content-type': 'application/json' }).end(typeof answer === 'string' ? answer : answer(body));
  });
  await new Promise<void>((resolve) => listening!.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(listening.address() as AddressInfo).port}`, asked };
}

describe('over HTTP', () => {
  it('asks below the given address, with the given headers, and what is in a path is escaped', async () => {
    const { url, asked } = await answering(200, '{"outcome":"deleted","orphaned":[]}');
    const client = createClient({ url: `${url}/stage/`, headers: { 'x-from': 'test' } });
    expect(await client.remove('a b?c')).toEqual({ outcome: 'deleted', orphaned: [] });
    expect(asked).toEqual([{ method: 'DELETE', url: '/stage/v1/manifests/a%20b%3Fc', from: 'test', body: '' }]);
  });

  it.each([
    [
      503,
      '{"code":"database_unavailable","detail":"the database cannot be reached"}',
      { name: 'DatabaseError', code: 'database_unavailable', retryable: true },
    ],
    [500, '{"code":"internal_error","detail":"something"}', { name: 'WaybillError', code: 'internal_error', retryable: false }],
    [
      403,
      '{"message":"Forbidden"}',
      { code: 'http_403', retryable: false, message: 'DELETE /v1/manifests/job was answered with 403: {"message":"Forbidden"}' },
    ],
    [502, '<html>bad gateway</html>', { code: 'http_502', retryable: true }],
    [429, '', { code: 'http_429', retryable: true, message: 'DELETE /v1/manifests/job was answered with 429: no text' }],
  ])('an answer of %i %s is an error that says whether to try again', async (status, body, error) => {
    const { url } = await answering(status, body);
    await expect(createClient({ url }).remove('job')).rejects.toMatchObject(error);
  });

  it('nobody there is an error that says so, and that it may be tried again', async () => {
    await expect(createClient({ url: 'http://127.0.0.1:1' }).remove('job')).rejects.toMatchObject({
      code: 'api_unreachable',
      retryable: true,
      message: expect.stringMatching(/^DELETE http:\/\/127\.0\.0\.1:1\/v1\/manifests\/job was not answered: /),
    });
  });
});

describe('over a database URL', () => {
  it('works with connections of its own, and pokes nobody where no bells are known', async () => {
    const client = createClient({ databaseUrl: server.url });
    await expect(client.schedule('work', 'job', {}, every.hours(1))).rejects.toMatchObject({ code: 'workflow_not_found' });
    await server.pool.query(`insert into waybill.deployment (owner, definition_hash) values ('test', 'x')`);
    await server.pool.query(`insert into waybill.workflow (name, owner, pool, deployment_version) values ('work', 'test', 'default', 1)`);
    expect(await client.schedule('work', 'job', {}, every.hours(1))).toEqual({ externalId: 'job', outcome: 'created' });
    const { rows } = await server.pool.query(
      `select initiator_type, initiator_name from waybill.audit_event where target_type = 'manifest'`,
    );
    expect(rows).toEqual([{ initiator_type: 'system', initiator_name: 'client' }]);
    await client.close();
  });

  it('inside the stack rings the bells that it was given', async () => {
    const accept = (body: string) => {
      const MD5OfMessageBody = createHash('md5').update(JSON.parse(body).MessageBody).digest('hex');
      return JSON.stringify({ MessageId: 'm', MD5OfMessageBody });
    };
    const { url, asked } = await answering(200, accept);
    vi.stubEnv('AWS_ENDPOINT_URL', url);
    vi.stubEnv('AWS_REGION', 'eu-west-1');
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'test');
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'test');
    vi.stubEnv('WAYBILL_WAKE_QUEUE_URL', 'https://sqs.eu-west-1.amazonaws.com/123456789012/wake');
    vi.stubEnv('WAYBILL_DISPATCH_QUEUE_URL', 'https://sqs.eu-west-1.amazonaws.com/123456789012/dispatch');
    const client = createClient({ databaseUrl: server.url });
    await client.trigger('job');
    await client.enable('job');
    expect(asked.map(({ body }) => JSON.parse(body).QueueUrl)).toEqual([
      process.env.WAYBILL_DISPATCH_QUEUE_URL,
      process.env.WAYBILL_WAKE_QUEUE_URL,
    ]);
    await client.close();
  });

  it('a database that cannot be reached is the error that the API would answer', async () => {
    const client = createClient({ databaseUrl: 'postgres://waybill:hunter2@127.0.0.1:1/waybill' });
    const error = await client.trigger('job').catch((caught: unknown) => caught);
    expect(error).toMatchObject({ name: 'DatabaseError', code: 'database_unavailable', retryable: true });
    expect(String(error)).not.toContain('hunter2');
  });

  it('a database that was handed in is not closed with the client', async () => {
    const client = createClient({ database: engine.database, doorbell: engine.doorbell });
    await client.close();
    expect(await engine.rows(sql`select 1 as one`)).toEqual([{ one: 1 }]);
  });
});
