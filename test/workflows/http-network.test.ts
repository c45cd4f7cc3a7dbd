import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { http } from '../../shared/workflows/index.ts';
import { answerJson, startServer } from './start-server.ts';
import { useBuiltIn } from './use-built-in.ts';

const world = useBuiltIn(http);

describe('a connection', () => {
  /** Nothing but a socket, which does to each connection what the test says. */
  async function startSocket(act: (socket: Socket) => void): Promise<string> {
    const server = createServer((socket) => void socket.on('error', () => {}).once('data', () => act(socket)));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  it.each<[string, (socket: Socket) => void, RegExp]>([
    ['that is reset before the answer', (socket) => socket.resetAndDestroy(), /ECONNRESET/],
    ['that is closed before the answer', (socket) => socket.end(), /hang up/],
    [
      'that is reset within the answer',
      (socket) => void socket.write('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nab', () => socket.resetAndDestroy()),
      /aborted|ECONNRESET/,
    ],
    ['that speaks something else', (socket) => socket.end('SSH-2.0-OpenSSH\r\n'), /Parse Error/],
  ])('%s fails the attempt', async (_, act, message) => {
    const url = await startSocket(act);
    expect(await world.run({ url })).toMatchObject({ state: 'failed', next: 'retry', failure_message: expect.stringMatching(message) });
  });

  it('that nobody takes fails the attempt', async () => {
    expect(await world.run({ url: 'http://127.0.0.1:1' })).toMatchObject({
      next: 'retry',
      failure_message: expect.stringContaining('ECONNREFUSED'),
    });
  });

  it.each<[string, (response: ServerResponse) => void]>([
    ['is not answered', () => {}],
    ['is answered too slowly', (response) => void response.writeHead(200).write('a')],
  ])('that %s in time fails the attempt', async (_, act) => {
    const { url } = await startServer(act);
    expect(await world.run({ url, timeoutSeconds: 1 })).toMatchObject({
      next: 'retry',
      failure_message: `GET ${url}/ took longer than its timeoutSeconds of 1`,
    });
  });
});

describe('an answer that asks to come back later', () => {
  it.each([429, 503])('with %i lets the run sleep until then, without counting as a failure', async (status) => {
    const server = await startServer((response, _, count) =>
      count < 3 ? answerJson(response, {}, status, { 'retry-after': '120' }) : answerJson(response, { done: true }),
    );
    expect(await world.run({ url: server.url })).toMatchObject({ state: 'waiting', next: 'sleep' });
    world.clock.advance(119);
    expect(await world.goOn()).toMatchObject({ state: 'waiting' });
    expect(server.received).toHaveLength(1);
    world.clock.advance(1);
    expect(await world.goOn()).toMatchObject({ state: 'waiting' });
    world.clock.advance(120);
    expect(await world.goOn()).toMatchObject({ state: 'completed', attempt: 1, output: { body: { done: true } } });
    expect(server.received).toHaveLength(3);
  });

  it('later than the run may wait fails the attempt', async () => {
    const server = await startServer((response) => answerJson(response, {}, 429, { 'retry-after': '61' }));
    expect(await world.run({ url: server.url, maxWaitSeconds: 60 })).toMatchObject({
      next: 'retry',
      failure_message: expect.stringContaining('asked to wait 61 s (maxWaitSeconds is 60, at most 10 times)'),
    });
  });

  it('again and again fails the attempt at last', async () => {
    const server = await startServer((response) => answerJson(response, {}, 503, { 'retry-after': '1' }));
    let run = await world.run({ url: server.url });
    for (let turn = 0; turn < 20 && run.state === 'waiting'; turn++) {
      world.clock.advance(1);
      run = await world.goOn();
    }
    expect(run).toMatchObject({ state: 'failed', attempt: 1, next: 'retry' });
    expect(server.received).toHaveLength(11);
  });
});

describe('a redirect', () => {
  it('is followed, and a POST becomes a GET where browsers make it one', async () => {
    const server = await startServer((response, { path }) => {
      const status = /^\/(\d+)$/.exec(path)?.[1];
      if (status) response.writeHead(Number(status), { location: '/end' }).end();
      else answerJson(response, {});
    });
    for (const status of [301, 302, 303, 307, 308]) await world.run({ url: `${server.url}/${status}`, method: 'POST', body: { a: 1 } });
    expect(
      server.received.filter(({ path }) => path === '/end').map(({ method, body, headers }) => [method, body, headers['content-type']]),
    ).toEqual([
      ['GET', '', undefined],
      ['GET', '', undefined],
      ['GET', '', undefined],
      ['POST', '{"a":1}', 'application/json'],
      ['POST', '{"a":1}', 'application/json'],
    ]);
  });

  it('in a circle is followed only so often', async () => {
    const server = await startServer((response) => response.writeHead(302, { location: '/again' }).end());
    expect(await world.run({ url: server.url, maxRedirects: 3 })).toMatchObject({
      next: 'dead_letter',
      failure_message: `GET ${server.url}/ was redirected more than 3 times, which is what maxRedirects allows`,
    });
    expect(server.received).toHaveLength(4);
  });

  it('that is expected is the answer', async () => {
    const server = await startServer((response) => response.writeHead(302, { location: '/x' }).end());
    const { output } = await world.run({ url: server.url, expectedStatuses: [302], keepHeaders: ['location'] });
    expect(output).toMatchObject({ status: 302, headers: { location: '/x' } });
  });

  it.each([
    ['file:///etc/passwd', "has the protocol 'file:'"],
    ['http://user:pw@127.0.0.1/', 'holds a user or password'],
    ['http://[', 'is no URL'],
  ])('to %s is refused', async (location, why) => {
    const server = await startServer((response) => response.writeHead(302, { location }).end());
    expect(await world.run({ url: server.url })).toMatchObject({ next: 'dead_letter', failure_message: expect.stringContaining(why) });
  });

  it('to another origin is followed without the secrets', async () => {
    vi.stubEnv('PARTNER_TOKEN', 'tok-123456789');
    const other = await startServer((response) => answerJson(response, {}));
    const server = await startServer((response) => response.writeHead(307, { location: other.url }).end());
    await world.run({ url: server.url, headers: { authorization: { environment: 'PARTNER_TOKEN' }, 'x-team': 'data' } });
    expect(server.received[0]?.headers).toMatchObject({ authorization: 'tok-123456789' });
    expect(other.received[0]?.headers).toMatchObject({ 'x-team': 'data' });
    expect(other.received[0]?.headers).not.toHaveProperty('authorization');
  });
});
