import { describe, expect, it, vi } from 'vitest';
import { http } from '../../shared/workflows/index.ts';
import { type PreparedRequest, showUrl } from '../../shared/workflows/prepare-request.ts';
import { redirect } from '../../shared/workflows/send-request.ts';
import { startAccount } from './start-account.ts';
import { answerJson, startServer } from './start-server.ts';
import { useBuiltIn } from './use-built-in.ts';

const world = useBuiltIn(http);
const TOKEN = 'tok-"5ecret"-0123456789';

/** Answers with whatever it was sent. */
const startEcho = (status = 200) => startServer((response, { headers, path }) => answerJson(response, { headers, path }, status));

describe('a secret', () => {
  it.each([200, 400, 500])('reaches the server and nothing else, also if it is repeated in an answer with status %i', async (status) => {
    vi.stubEnv('PARTNER_LOGIN', TOKEN);
    const server = await startEcho(status);
    const headers = { authorization: { environment: 'PARTNER_LOGIN', prefix: 'Bearer ' }, 'x-shop': { environment: 'PARTNER_LOGIN' } };
    await world.run({ url: server.url, headers });
    expect(server.received[0]?.headers).toMatchObject({ authorization: `Bearer ${TOKEN}`, 'x-shop': TOKEN });
    const everything = (await world.kept()) + world.logged.join('\n');
    expect(everything).toContain('[redacted]');
    expect(everything).not.toContain('5ecret');
    expect(everything).toContain('PARTNER_LOGIN');
  });

  it('may be the URL, of which nothing is shown', async () => {
    const server = await startServer((response) => response.writeHead(404).end());
    vi.stubEnv('HOOK_URL', `${server.url}/hooks/T00/5ecret?sign=5ecret`);
    expect(await world.run({ url: { environment: 'HOOK_URL' } })).toMatchObject({
      failure_message: 'GET the URL of environment variable HOOK_URL answered 404 Not Found',
    });
    expect(server.received[0]?.path).toBe('/hooks/T00/5ecret?sign=5ecret');
    expect((await world.kept()) + world.logged.join('\n')).not.toContain('5ecret');
  });

  it('is read from Secrets Manager, whole or by its key', async () => {
    const { secrets } = await startAccount();
    secrets.put('open/plain', 'plain-value\n');
    const arn = secrets.put('open/json', JSON.stringify({ token: 'json-value' }));
    const server = await startEcho();
    await world.run({ url: server.url, headers: { 'x-a': { secret: 'open/plain' }, 'x-b': { secret: arn, key: 'token' } } });
    expect(server.received[0]?.headers).toMatchObject({ 'x-a': 'plain-value', 'x-b': 'json-value' });
  });

  it.each<[string, object, string]>([
    ['does not exist', { secret: 'open/none' }, "secret 'open/none' could not be read:"],
    ['may not be read', { secret: 'closed' }, "check its name, and that the pool may read it: secret.grantRead(jobs.pool('…'))"],
    ['has not the key', { secret: 'open/json', key: 'other' }, "secret 'open/json' has no text under the key 'other'"],
    ['is not set', { environment: 'UNSET_TOKEN' }, 'environment variable UNSET_TOKEN is not set'],
    ['cannot be sent', { secret: 'open/lines' }, "what secret 'open/lines' holds cannot be sent as header 'x-a'"],
    ["is Waybill's own", { secret: 'open/database' }, "secret 'open/database' is Waybill's own and not for workflows"],
  ])('that %s dead-letters the run before anything is sent', async (_, reference, message) => {
    const { secrets } = await startAccount();
    for (const name of ['closed', 'open/database', 'open/json']) secrets.put(name, '{"token":"5ecret-value"}');
    secrets.put('open/lines', 'a\nb');
    vi.stubEnv('WAYBILL_DATABASE_SECRET_ID', secrets.get('open/database')!.arn);
    const server = await startEcho();
    const run = await world.run({ url: server.url, headers: { 'x-a': reference } });
    expect(run).toMatchObject({ next: 'dead_letter', failure_message: expect.stringContaining(message) });
    expect(run.failure_message).not.toContain('5ecret');
    expect(server.received).toEqual([]);
  });

  it('is tried again when Secrets Manager cannot be reached', async () => {
    vi.stubEnv('AWS_ENDPOINT_URL', 'http://127.0.0.1:1');
    vi.stubEnv('AWS_REGION', 'us-east-1');
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'LOCALPOOL');
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'unused');
    expect(await world.run({ url: 'http://127.0.0.1:1', headers: { 'x-a': { secret: 'open/x' } } })).toMatchObject({ next: 'retry' });
  });
});

describe('a URL', () => {
  it.each(['http://169.254.169.254/latest/meta-data', 'http://[::ffff:169.254.169.254]/', 'http://[fe80::1]/', 'http://0xa9fea9fe/'])(
    'of the machine’s own credentials is not called: %s',
    async (url) => {
      expect(await world.run({ url })).toMatchObject({
        next: 'dead_letter',
        failure_message: expect.stringContaining("is the machine's own and is not called"),
      });
    },
  );

  it.each<[string, (port: number) => string]>([
    ['by address', (port) => `http://127.0.0.1:${port}/`],
    ['by another address', (port) => `http://0.0.0.0:${port}/`],
    ['by name', (port) => `http://localhost:${port}/`],
  ])('of the Runtime API is not called %s, and not by a redirect', async (_, urlOf) => {
    const runtime = await startEcho();
    vi.stubEnv('AWS_LAMBDA_RUNTIME_API', `127.0.0.1:${runtime.port}`);
    const url = urlOf(runtime.port);
    const stranger = await startServer((response) => response.writeHead(302, { location: url }).end());
    for (const start of [url, stranger.url])
      expect(await world.run({ url: start })).toMatchObject({
        next: 'dead_letter',
        failure_message: expect.stringContaining("is the machine's own and is not called"),
      });
    expect(runtime.received).toEqual([]);
  });

  it('that is encrypted is not left for one that is not', () => {
    const url = new URL('https://example.com/a');
    const request: PreparedRequest = { method: 'GET', url, shownUrl: showUrl(url), headers: {}, secretHeaders: [], body: undefined };
    expect(() => redirect(request, 302, 'http://example.com/a')).toThrow('was redirected to what is not encrypted');
    expect(redirect(request, 302, '/b').url.href).toBe('https://example.com/b');
  });
});
