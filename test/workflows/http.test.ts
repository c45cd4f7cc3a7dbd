import { describe, expect, it } from 'vitest';
import type { AnyWorkflow } from '../../shared/model/workflow.ts';
import { http } from '../../shared/workflows/index.ts';
import { answerJson, startServer } from './start-server.ts';
import { useBuiltIn } from './use-built-in.ts';

const world = useBuiltIn(http);

describe('a request', () => {
  it('is sent as the input says, and its answer is the output', async () => {
    const server = await startServer((response) =>
      answerJson(response, { id: 7 }, 201, { etag: '"a"', 'set-cookie': 'session=1', 'x-other': 'no' }),
    );
    const input = { url: `${server.url}/orders?x=1`, method: 'POST', headers: { 'X-Team': 'data' }, body: { amount: 3 } };
    expect(await world.run(input)).toMatchObject({
      state: 'completed',
      output: {
        status: 201,
        headers: { 'content-type': 'application/json', etag: '"a"', date: expect.any(String) },
        body: { id: 7 },
        isTruncated: false,
      },
    });
    expect(JSON.stringify((await world.rows({ text: 'select output from waybill.execution', values: [] }))[0])).not.toMatch(
      /session|x-other/,
    );
    expect(server.received).toMatchObject([
      {
        method: 'POST',
        path: '/orders?x=1',
        body: '{"amount":3}',
        headers: { 'content-type': 'application/json', 'content-length': '12', 'x-team': 'data' },
      },
    ]);
  });

  it('is a GET of whatever type if nothing else is said, and asks for no compression', async () => {
    const server = await startServer((response) => answerJson(response, null));
    expect(await world.run({ url: server.url })).toMatchObject({ state: 'completed', output: { body: null } });
    expect(server.received).toMatchObject([
      { method: 'GET', body: '', headers: { accept: '*/*', 'accept-encoding': 'identity', connection: 'close' } },
    ]);
  });

  it('sends text as it is', async () => {
    const server = await startServer((response) => answerJson(response, {}));
    await world.run({ url: server.url, method: 'PUT', body: 'a,b\n', headers: { 'content-type': 'text/csv' } });
    expect(server.received).toMatchObject([{ body: 'a,b\n', headers: { 'content-type': 'text/csv' } }]);
  });

  it('has the same idempotency key in every attempt of a run, and another in another run', async () => {
    const server = await startServer((response, _, count) => answerJson(response, {}, count === 1 ? 500 : 200));
    expect(await world.run({ url: server.url, method: 'POST' })).toMatchObject({ state: 'failed', next: 'retry' });
    world.clock.advance(3600);
    expect(await world.goOn()).toMatchObject({ state: 'completed', attempt: 2 });
    await world.run({ url: server.url, method: 'POST' });
    const [first, second, third] = server.received.map(({ headers }) => headers['idempotency-key']);
    expect(first).toMatch(/^waybill-run-\d+$/);
    expect(second).toBe(first);
    expect(third).not.toBe(first);
  });

  it('keeps a key of the user’s own', async () => {
    const server = await startServer((response) => answerJson(response, {}));
    await world.run({ url: server.url, headers: { 'Idempotency-Key': 'mine' } });
    expect(server.received[0]?.headers['idempotency-key']).toBe('mine');
  });

  it('that was answered is not sent again by an attempt that comes after it', async () => {
    const server = await startServer((response) => answerJson(response, { n: 1 }));
    const dying: AnyWorkflow = {
      ...http,
      run: async (ctx, input) => {
        const output = await http.run(ctx, input);
        if (ctx.attempt === 1) throw new Error('died before its outcome');
        return output;
      },
    };
    expect(await world.run({ url: server.url, method: 'POST' }, { workflows: [dying] })).toMatchObject({ next: 'retry' });
    world.clock.advance(3600);
    expect(await world.goOn([dying])).toMatchObject({ state: 'completed', output: { body: { n: 1 } } });
    expect(server.received).toHaveLength(1);
  });

  it('ends when the run does, and its connection with it', async () => {
    const { promise: closed, resolve } = Promise.withResolvers<void>();
    const server = await startServer((response) => response.on('close', resolve));
    expect(await world.run({ url: server.url }, { timeoutSeconds: 1 })).toMatchObject({ state: 'failed', failure_code: 'timeout' });
    await closed;
  });
});

describe('an answer', () => {
  const answered = async (headers: Record<string, string>, body: string | Buffer, input: object = {}) => {
    const server = await startServer((response) => response.writeHead(200, headers).end(body));
    const { output } = await world.run({ url: server.url, ...input });
    return output as { body: unknown; isTruncated: boolean };
  };

  it.each<[string, Record<string, string>, string | Buffer, unknown]>([
    ['text is text', { 'content-type': 'text/plain' }, 'héllo', 'héllo'],
    ['text of another charset is text', { 'content-type': 'text/plain; charset=ISO-8859-1' }, Buffer.from('héllo', 'latin1'), 'héllo'],
    ['JSON is what it says', { 'content-type': 'application/problem+json' }, '[1]', [1]],
    ['JSON that is none is text', { 'content-type': 'application/json' }, '{', '{'],
    ['JSON with a character that cannot be stored is text', { 'content-type': 'application/json' }, '"\\u0000"', '"\\u0000"'],
    ['text with a character that cannot be stored loses it', { 'content-type': 'text/plain' }, 'a\0b', 'a\uFFFDb'],
    ['bytes are nothing', { 'content-type': 'image/png' }, Buffer.from([0x89, 0x50, 0xff]), null],
    ['what is compressed nevertheless is nothing', { 'content-encoding': 'gzip' }, 'abc', null],
    ['what has an unknown charset is nothing', { 'content-type': 'text/plain; charset=klingon' }, 'abc', null],
    ['nothing is an empty text', {}, '', ''],
  ])('of which %s', async (_, headers, body, expected) => {
    expect(await answered(headers, body)).toMatchObject({ body: expected, isTruncated: false });
  });

  it('that never ends is read as far as allowed, between two characters', async () => {
    const { promise: closed, resolve } = Promise.withResolvers<void>();
    let writtenBytes = 0;
    const server = await startServer((response) => {
      const write = () => {
        do writtenBytes += 20_000;
        while (response.write('é'.repeat(10_000)));
      };
      response.writeHead(200, { 'content-type': 'application/json' }).on('drain', write).on('close', resolve);
      write();
    });
    const { output } = await world.run({ url: server.url, maxResponseBytes: 1_001 });
    expect(output).toMatchObject({ status: 200, body: 'é'.repeat(500), isTruncated: true });
    await closed;
    // What fits into the buffers on the way, and no more.
    expect(writtenBytes).toBeLessThan(50_000_000);
  });

  it('that would be too long as JSON is cut until it fits', async () => {
    const { body, isTruncated } = await answered({ 'content-type': 'text/plain' }, '\x01'.repeat(200_000), { maxResponseBytes: 200_000 });
    expect(isTruncated).toBe(true);
    expect(String(body).length).toBeGreaterThan(20_000);
  });

  it('keeps the headers that the input names', async () => {
    const server = await startServer((response) => answerJson(response, {}, 200, { 'x-cursor': 'c2' }));
    expect((await world.run({ url: server.url, keepHeaders: ['X-Cursor'] })).output).toMatchObject({ headers: { 'x-cursor': 'c2' } });
  });
});

describe('the status', () => {
  it.each([408, 429, 500, 502, 503])('%i fails the attempt, which is retried', async (status) => {
    const server = await startServer((response) => answerJson(response, { why: 'busy' }, status));
    expect(await world.run({ url: `${server.url}/a?token=t` })).toMatchObject({
      state: 'failed',
      next: 'retry',
      failure_message: expect.stringMatching(new RegExp(`^GET ${server.url}/a answered ${status} .*: \\{"why":"busy"\\}$`)),
    });
  });

  it.each([304, 400, 401, 403, 404, 409, 422])('%i dead-letters the run', async (status) => {
    const server = await startServer((response) => response.writeHead(status).end());
    expect(await world.run({ url: server.url })).toMatchObject({ state: 'failed', next: 'dead_letter', failure_code: 'non_retryable' });
    expect(server.received).toHaveLength(1);
  });

  it('is a success if it is expected, and another 2xx then is not', async () => {
    const server = await startServer((response, { path }) => response.writeHead(Number(path.slice(1))).end());
    expect(await world.run({ url: `${server.url}/404`, expectedStatuses: [200, 404] })).toMatchObject({
      state: 'completed',
      output: { status: 404 },
    });
    expect(await world.run({ url: `${server.url}/202`, expectedStatuses: [200] })).toMatchObject({ next: 'dead_letter' });
  });
});
