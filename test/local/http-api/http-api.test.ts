import { type IncomingMessage, type OutgoingHttpHeaders, request as send } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, it } from 'vitest';
import { type HttpApi, type HttpApiOptions, startHttpApi } from '../../../local/http-api/http-api.ts';
import type { Route } from '../../../local/http-api/route.ts';
import type { InvocationResult } from '../../../local/lambda/invocation.ts';

const IDENTITY = {
  accessKey: 'LOCAL',
  accountId: '000000000000',
  callerId: 'local',
  userArn: 'arn:aws:iam::000000000000:user/local',
  userId: 'local',
};

const apis: HttpApi[] = [];
afterEach(async () => {
  for (const api of apis.splice(0)) await api.close();
});

type Answer = (event: Record<string, unknown>) => unknown;

const succeeding =
  (answer: Answer) =>
  async (event: unknown): Promise<InvocationResult> => ({ status: 'succeeded', payload: answer(event as Record<string, unknown>) });

function route(routeKey: string, invoke: Route['invoke'], settings: Partial<Route> = {}): Route {
  return { routeKey, invoke, payloadFormatVersion: '2.0', timeoutMs: 30_000, authorizationType: 'NONE', ...settings };
}

async function start(routes: Route[], options: Partial<HttpApiOptions> = {}): Promise<HttpApi> {
  const api = await startHttpApi({ port: 0, apiId: 'local-api', stageName: '$default', routes, identity: IDENTITY, ...options });
  apis.push(api);
  return api;
}

/** Sends exactly these headers, which `fetch` would not. */
async function ask(
  url: string,
  { method = 'GET', headers = {}, body }: { method?: string; headers?: OutgoingHttpHeaders; body?: string | Buffer } = {},
) {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  send(url, { method, headers, agent: false }, resolve).on('error', reject).end(body);
  const response = await promise;
  return { status: response.statusCode, headers: response.headers, body: await text(response) };
}

const message = (words: string) => JSON.stringify({ message: words });

describe('the event', () => {
  it('is the one that API Gateway sends, in payload format 2.0', async () => {
    const api = await start([
      route(
        'POST /v1/{kind}/{proxy+}',
        succeeding((event) => event),
      ),
    ]);
    const { host, port } = new URL(api.url);
    const response = await ask(`${api.url}/v1/caf%C3%A9%20bar/a%2Fb/c?tag=x&tag=y%26z&flag&sp=a+b`, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json; charset=utf-8',
        'X-Twice': ['1', '2'],
        Cookie: ['a=1; b=2', 'c=3'],
        'User-Agent': 'test',
      },
      body: '{"name":"žluť"}',
    });
    expect(JSON.parse(response.body)).toEqual({
      version: '2.0',
      routeKey: 'POST /v1/{kind}/{proxy+}',
      rawPath: '/v1/café bar/a/b/c',
      rawQueryString: 'tag=x&tag=y%26z&flag&sp=a+b',
      cookies: ['a=1', 'b=2', 'c=3'],
      headers: expect.objectContaining({
        'content-type': 'application/json; charset=utf-8',
        'x-twice': '1,2',
        host,
        'user-agent': 'test',
        'x-forwarded-for': '127.0.0.1',
        'x-forwarded-port': port,
        'x-forwarded-proto': 'http',
      }),
      queryStringParameters: { tag: 'x,y&z', flag: '', sp: 'a b' },
      pathParameters: { kind: 'café bar', proxy: 'a/b/c' },
      requestContext: {
        accountId: '000000000000',
        apiId: 'local-api',
        domainName: '127.0.0.1',
        domainPrefix: '127',
        http: { method: 'POST', path: '/v1/café bar/a/b/c', protocol: 'HTTP/1.1', sourceIp: '127.0.0.1', userAgent: 'test' },
        requestId: expect.stringMatching(/^[0-9a-f-]{36}$/),
        routeKey: 'POST /v1/{kind}/{proxy+}',
        stage: '$default',
        time: expect.stringMatching(/^\d\d\/[A-Z][a-z]{2}\/\d{4}:\d\d:\d\d:\d\d \+0000$/),
        timeEpoch: expect.any(Number),
      },
      body: '{"name":"žluť"}',
      isBase64Encoded: false,
    });
    const event = JSON.parse(response.body);
    expect(event.headers).not.toHaveProperty('cookie');
    expect(response.headers['apigw-requestid']).toBe(event.requestContext.requestId);
  });

  it('leaves out what the request does not have', async () => {
    const api = await start([
      route(
        '$default',
        succeeding((event) => event),
      ),
    ]);
    const event = JSON.parse((await ask(`${api.url}/`)).body);
    expect(Object.keys(event).sort()).toEqual([
      'headers',
      'isBase64Encoded',
      'rawPath',
      'rawQueryString',
      'requestContext',
      'routeKey',
      'version',
    ]);
    expect(event).toMatchObject({ rawQueryString: '', isBase64Encoded: false });
    expect(event.requestContext).not.toHaveProperty('authorizer');
  });

  it.each([
    ['text/csv', false],
    ['application/json', false],
    ['APPLICATION/XML; charset=utf-8', false],
    ['application/javascript', false],
    ['application/x-www-form-urlencoded', true],
    ['application/octet-stream', true],
    [undefined, true],
  ])('carries a body of type %s in base64: %s', async (contentType, isBase64Encoded) => {
    const api = await start([
      route(
        '$default',
        succeeding((event) => event),
      ),
    ]);
    const headers = contentType === undefined ? {} : { 'content-type': contentType };
    const event = JSON.parse((await ask(api.url, { method: 'PUT', headers, body: 'a=1' })).body);
    expect(event).toMatchObject({ isBase64Encoded, body: isBase64Encoded ? 'YT0x' : 'a=1' });
  });

  it('names the local identity on routes with IAM authorization', async () => {
    const api = await start([
      route(
        '$default',
        succeeding((event) => event),
        { authorizationType: 'AWS_IAM' },
      ),
    ]);
    const event = JSON.parse((await ask(api.url)).body);
    expect(event.requestContext.authorizer).toEqual({ iam: { ...IDENTITY, cognitoIdentity: null, principalOrgId: null } });
  });

  it('of a named stage has the stage in its path, and other paths are not found', async () => {
    const api = await start(
      [
        route(
          'GET /health',
          succeeding(({ rawPath }) => ({ rawPath })),
        ),
      ],
      { stageName: 'prod' },
    );
    expect((await ask(`${api.url}/prod/health`)).body).toBe('{"rawPath":"/prod/health"}');
    expect((await ask(`${api.url}/health`)).status).toBe(404);
    expect((await ask(`${api.url}/production/health`)).status).toBe(404);
  });
});

describe('the answer', () => {
  it('is what the function says, cookies as one header each', async () => {
    const payload = {
      statusCode: 201,
      headers: { 'Content-Type': 'text/html', 'X-Count': 3, Connection: 'x' },
      cookies: ['a=1; Path=/', 'b=2'],
      body: '<p>ž</p>',
    };
    const api = await start([
      route(
        '$default',
        succeeding(() => payload),
      ),
    ]);
    const response = await ask(api.url);
    expect(response).toMatchObject({ status: 201, body: '<p>ž</p>' });
    expect(response.headers).toMatchObject({
      'content-type': 'text/html',
      'x-count': '3',
      'set-cookie': ['a=1; Path=/', 'b=2'],
      'content-length': '9',
    });
  });

  it('is decoded when the function encoded it', async () => {
    const api = await start([
      route(
        '$default',
        succeeding(() => ({ statusCode: 200, body: 'aGVsbG8=', isBase64Encoded: true })),
      ),
    ]);
    expect(await ask(api.url)).toMatchObject({ body: 'hello', headers: { 'content-type': 'text/plain;charset=utf-8' } });
  });

  it.each([
    [{ ok: true }, '{"ok":true}'],
    [[1, 2], '[1,2]'],
    ['plain words', 'plain words'],
    [null, 'null'],
  ])('is inferred as JSON with 200 from %j', async (payload, body) => {
    const api = await start([
      route(
        '$default',
        succeeding(() => payload),
      ),
    ]);
    expect(await ask(api.url)).toMatchObject({ status: 200, body, headers: { 'content-type': 'application/json' } });
  });

  it.each([
    [{ statusCode: 'ok' }],
    [{ statusCode: 42 }],
    [{ statusCode: 200, body: { not: 'a string' } }],
    [{ statusCode: 200, headers: { a: ['b'] } }],
    [{ statusCode: 200, headers: 'none' }],
    [{ statusCode: 200, headers: { bad: 'line\nbreak' } }],
    [{ statusCode: 200, cookies: 'a=1' }],
  ])('is 500 when the function returns %j', async (payload) => {
    const api = await start([
      route(
        '$default',
        succeeding(() => payload),
      ),
    ]);
    expect(await ask(api.url)).toMatchObject({ status: 500, body: message('Internal Server Error') });
  });

  it('is 500 when the function fails, and tells nothing of the inside', async () => {
    const failing = async (): Promise<InvocationResult> => ({
      status: 'failed',
      error: { errorType: 'Error', errorMessage: 'password=hunter2' },
    });
    const rejecting = () => Promise.reject(new Error('password=hunter2'));
    const api = await start([route('GET /failing', failing), route('GET /rejecting', rejecting)]);
    for (const path of ['/failing', '/rejecting']) {
      expect(await ask(`${api.url}${path}`)).toMatchObject({ status: 500, body: message('Internal Server Error') });
    }
  });

  it('is 503 when the function is throttled', async () => {
    const api = await start([route('$default', async () => ({ status: 'throttled' }))]);
    expect(await ask(api.url)).toMatchObject({ status: 503, body: message('Service Unavailable') });
  });

  it('is 503 when the function takes longer than the integration allows', async () => {
    const api = await start([route('$default', () => new Promise(() => {}), { timeoutMs: 50 })]);
    expect(await ask(api.url)).toMatchObject({ status: 503, body: message('Service Unavailable') });
  });

  it('is 404 without a route and 400 for a path that cannot be decoded', async () => {
    const api = await start([
      route(
        'GET /v1/health',
        succeeding(() => 'ok'),
      ),
    ]);
    expect(await ask(`${api.url}/v2`)).toMatchObject({ status: 404, body: message('Not Found') });
    expect(await ask(`${api.url}/%E0%A4%A`)).toMatchObject({ status: 400, body: message('Bad Request') });
  });

  it('is 413 for a body over 10 MB, and the largest body is accepted', async () => {
    const headers = { 'content-type': 'text/plain' };
    const api = await start([
      route(
        '$default',
        succeeding(({ body }) => ({ length: (body as string).length })),
      ),
    ]);
    const largest = Buffer.alloc(10 * 1024 * 1024, 'x');
    expect(await ask(api.url, { method: 'POST', headers, body: largest })).toMatchObject({
      status: 200,
      body: `{"length":${largest.length}}`,
    });
    const tooLarge = Buffer.concat([largest, Buffer.from('x')]);
    expect(await ask(api.url, { method: 'POST', headers, body: tooLarge })).toMatchObject({
      status: 413,
      body: message('Request Entity Too Large'),
    });
  });

  it('to HEAD has no body', async () => {
    const api = await start([
      route(
        '$default',
        succeeding(() => ({ statusCode: 200, body: 'hello' })),
      ),
    ]);
    expect(await ask(api.url, { method: 'HEAD' })).toMatchObject({ status: 200, body: '', headers: { 'content-length': '5' } });
  });
});

describe('local protection', () => {
  const invocations: unknown[] = [];
  const routes = [
    route(
      '$default',
      succeeding((event) => {
        invocations.push(event);
        return 'ok';
      }),
    ),
  ];
  afterEach(() => void invocations.splice(0));

  it.each(['evil.example', 'evil.example:4000', '127.0.0.1.evil.example', 'localhost.evil.example', '169.254.169.254'])(
    'refuses a request for the host %j',
    async (host) => {
      const api = await start(routes);
      const response = await ask(api.url, { headers: { host } });
      expect(response.status).toBe(403);
      expect(response.body).toContain('is not this machine');
      expect(invocations).toEqual([]);
    },
  );

  it.each(['localhost', '127.0.0.1', '[::1]'])('accepts the host %s', async (name) => {
    const api = await start(routes);
    expect((await ask(api.url, { headers: { host: `${name}:${new URL(api.url).port}` } })).status).toBe(200);
  });

  it.each(['https://evil.example', 'null', 'http://127.0.0.1:1'])('refuses to change something for the origin %s', async (origin) => {
    const api = await start(routes, { corsConfiguration: { AllowOrigins: ['*'] } });
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
      expect((await ask(api.url, { method, headers: { origin } })).status).toBe(403);
    }
    expect(invocations).toEqual([]);
  });

  it('lets the API’s own pages, programs without an origin, and named origins change things', async () => {
    const api = await start(routes, { corsConfiguration: { AllowOrigins: ['http://localhost:5173'] } });
    for (const headers of [{ origin: api.url }, {}, { origin: 'http://localhost:5173' }]) {
      expect((await ask(api.url, { method: 'POST', headers })).status).toBe(200);
    }
  });

  it('refuses to listen anywhere but on the loopback interface', async () => {
    await expect(start(routes, { host: '0.0.0.0' })).rejects.toThrow(/host '0\.0\.0\.0' is refused/);
  });
});

describe('CORS', () => {
  const corsConfiguration = {
    AllowOrigins: ['https://app.example'],
    AllowMethods: ['GET', 'POST'],
    AllowHeaders: ['content-type'],
    ExposeHeaders: ['etag'],
    MaxAge: 600,
    AllowCredentials: true,
  };
  const headers = { origin: 'https://app.example', 'access-control-request-method': 'POST' };

  it('answers a preflight itself', async () => {
    const api = await start([route('$default', () => Promise.reject(new Error('invoked')))], { corsConfiguration });
    const response = await ask(api.url, { method: 'OPTIONS', headers });
    expect(response.status).toBe(204);
    expect(response.headers).toMatchObject({
      'access-control-allow-origin': 'https://app.example',
      'access-control-allow-methods': 'GET,POST',
      'access-control-allow-headers': 'content-type',
      'access-control-allow-credentials': 'true',
      'access-control-max-age': '600',
    });
    const foreign = await ask(api.url, { method: 'OPTIONS', headers: { ...headers, origin: 'https://other.example' } });
    expect(foreign.status).toBe(204);
    expect(foreign.headers['access-control-allow-origin']).toBeUndefined();
  });

  it('replaces the CORS headers of the function', async () => {
    const payload = { statusCode: 200, headers: { 'Access-Control-Allow-Origin': '*', etag: 'x' }, body: '' };
    const api = await start(
      [
        route(
          '$default',
          succeeding(() => payload),
        ),
      ],
      { corsConfiguration },
    );
    expect((await ask(api.url, { headers })).headers).toMatchObject({
      'access-control-allow-origin': 'https://app.example',
      'access-control-expose-headers': 'etag',
      etag: 'x',
    });
    expect((await ask(api.url)).headers['access-control-allow-origin']).toBeUndefined();
  });

  it('without a configuration leaves a preflight to the routes', async () => {
    const api = await start([
      route(
        'GET /',
        succeeding(() => 'ok'),
      ),
    ]);
    expect((await ask(api.url, { method: 'OPTIONS', headers })).status).toBe(404);
  });
});

describe('the server', () => {
  it('says in a sentence that its port is in use', async () => {
    const first = await start([]);
    const port = Number(new URL(first.url).port);
    await expect(start([], { port })).rejects.toMatchObject({
      code: 'EADDRINUSE',
      message: `port ${port} is in use: stop what uses it or choose another with --port`,
    });
  });

  it('takes new routes while it runs; a request under way ends on the old ones', async () => {
    const release = Promise.withResolvers<InvocationResult>();
    const arrived = Promise.withResolvers<void>();
    const slow = route('GET /', () => {
      arrived.resolve();
      return release.promise;
    });
    const api = await start([slow]);
    const old = ask(api.url);
    await arrived.promise;
    api.update([
      route(
        'GET /',
        succeeding(() => 'new'),
      ),
    ]);
    expect((await ask(api.url)).body).toBe('new');
    release.resolve({ status: 'succeeded', payload: 'old' });
    expect((await old).body).toBe('old');
  });

  it('answers what is under way before it closes, and is not held up by an idle or half-finished client', async () => {
    const release = Promise.withResolvers<InvocationResult>();
    const arrived = Promise.withResolvers<void>();
    const api = await start([
      route('GET /', () => {
        arrived.resolve();
        return release.promise;
      }),
    ]);
    const half = connect(Number(new URL(api.url).port), '127.0.0.1');
    half.on('error', () => {});
    await new Promise((resolve) => half.once('connect', resolve));
    half.write('GET / HTTP/1.1\r\nHost: 127.0.');
    const pending = ask(api.url);
    await arrived.promise;
    const closed = api.close();
    release.resolve({ status: 'succeeded', payload: 'in time' });
    expect((await pending).body).toBe('in time');
    await closed;
    await expect(ask(api.url)).rejects.toThrow(/ECONNREFUSED/);
  });

  it('survives a client that hangs up', async () => {
    const release = Promise.withResolvers<InvocationResult>();
    const arrived = Promise.withResolvers<void>();
    const api = await start([
      route('GET /slow', () => {
        arrived.resolve();
        return release.promise;
      }),
      route(
        'GET /',
        succeeding(() => 'ok'),
      ),
    ]);
    const abandoned = new AbortController();
    const gone = fetch(`${api.url}/slow`, { signal: abandoned.signal }).catch(() => 'gone');
    await arrived.promise;
    abandoned.abort();
    expect(await gone).toBe('gone');
    release.resolve({ status: 'succeeded', payload: 'nobody hears this' });
    expect((await ask(api.url)).body).toBe('ok');
  });
});
