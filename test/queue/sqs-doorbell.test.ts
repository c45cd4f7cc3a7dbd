import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { type Message, ReceiveMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { type EmbeddedSqs, startEmbeddedSqs } from '../../local/sqs/embedded-sqs.ts';
import type { ExecutionId } from '../../shared/model/ids.ts';
import { createLogger } from '../../shared/observability/log.ts';
import { decodeExecutionBell } from '../../shared/queue/doorbell.ts';
import { createSqsDoorbell } from '../../shared/queue/sqs-doorbell.ts';

let sqs: EmbeddedSqs;
let client: SQSClient;
const clients: SQSClient[] = [];
const lines: Record<string, unknown>[] = [];
const log = createLogger('test', (line) => lines.push(JSON.parse(line)));
let queueCount = 0;

beforeAll(async () => {
  sqs = await startEmbeddedSqs();
  client = connect(sqs.url);
});
afterAll(async () => {
  for (const one of clients) one.destroy();
  await sqs.close();
});
afterEach(() => {
  lines.length = 0;
  vi.unstubAllEnvs();
});

/** The real SDK, as functions use it, but for who and where they are. */
function connect(endpoint: string): SQSClient {
  const credentials = { accessKeyId: 'test', secretAccessKey: 'test' };
  const made = new SQSClient({ endpoint, region: 'us-east-1', useQueueUrlAsEndpoint: false, credentials });
  clients.push(made);
  return made;
}

const createQueue = async () => (await sqs.createQueue({ name: `queue-${++queueCount}`, attributes: {} })).queueUrl;
const bells = (queueUrl: string, from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => ({ executionId: (from + index) as ExecutionId, queueUrl }));

async function receiveAll(queueUrl: string): Promise<Message[]> {
  const messages: Message[] = [];
  for (;;) {
    const { Messages = [] } = await client.send(
      new ReceiveMessageCommand({ QueueUrl: queueUrl, MaxNumberOfMessages: 10, MessageSystemAttributeNames: ['All'] }),
    );
    if (!Messages.length) return messages;
    messages.push(...Messages);
  }
}

const received = async (queueUrl: string) =>
  (await receiveAll(queueUrl)).map(({ Body }) => decodeExecutionBell(Body ?? '')).sort((a, b) => Number(a) - Number(b));

describe('ringing executions', () => {
  it('rings 25 on each of two queues, in the tens that SQS takes, each exactly once', async () => {
    const [first, second] = [await createQueue(), await createQueue()];
    const wanted = bells(first, 1, 25).flatMap((bell, index) => [bell, ...bells(second, 101 + index, 101 + index)]);
    const accepted = await createSqsDoorbell(log, client).ringExecutions(wanted);
    expect(accepted.sort((a, b) => a - b)).toEqual(wanted.map(({ executionId }) => executionId).sort((a, b) => a - b));
    expect(await received(first)).toEqual(bells(first, 1, 25).map(({ executionId }) => executionId));
    expect(await received(second)).toEqual(bells(second, 101, 125).map(({ executionId }) => executionId));
    expect(lines).toEqual([]);
  });

  it('rings nothing when there is nothing to ring', async () => {
    expect(await createSqsDoorbell(log, client).ringExecutions([])).toEqual([]);
  });

  it('gives only what was accepted when SQS refuses some of a batch, and says why', async () => {
    const queueUrl = await createQueue();
    const proxy = await refuseSome((executionId) => executionId % 3 === 0);
    const accepted = await createSqsDoorbell(log, connect(proxy.url)).ringExecutions(bells(queueUrl, 1, 12));
    await proxy.close();
    expect(accepted).toEqual([1, 2, 4, 5, 7, 8, 10, 11]);
    expect(await received(queueUrl)).toEqual(accepted);
    expect(lines.map(({ level, executionId, code }) => [level, executionId, code])).toEqual(
      ['3', '6', '9', '12'].map((id) => ['warn', id, 'InternalError']),
    );
  });

  it('gives only the bells of the queue that exists when another is gone', async () => {
    const queueUrl = await createQueue();
    const wanted = [...bells(`${sqs.url}/000000000000/gone`, 1, 3), ...bells(queueUrl, 4, 6)];
    expect(await createSqsDoorbell(log, client).ringExecutions(wanted)).toEqual([4, 5, 6]);
    expect(lines).toMatchObject([{ level: 'error', executionIds: [1, 2, 3] }]);
  });

  it('gives nothing, and does not raise, when nobody answers', async () => {
    const accepted = await createSqsDoorbell(log, connect(await closedPort())).ringExecutions(bells(await createQueue(), 1, 12));
    expect(accepted).toEqual([]);
    expect(lines.map(({ level }) => level)).toEqual(['error', 'error']);
  });
});

describe('pokes', () => {
  it('reach the dispatcher and the manager, with the generation of a planned wake', async () => {
    const [dispatch, wake] = [await createQueue(), await createQueue()];
    vi.stubEnv('WAYBILL_DISPATCH_QUEUE_URL', dispatch);
    vi.stubEnv('WAYBILL_WAKE_QUEUE_URL', wake);
    const doorbell = createSqsDoorbell(log, client);
    await doorbell.pokeDispatcher();
    expect(await doorbell.pokeManager()).toBe(true);
    expect(await doorbell.pokeManager({ generation: 7 })).toBe(true);
    expect((await receiveAll(dispatch)).map(({ Body }) => JSON.parse(Body!))).toEqual([{ v: 1 }]);
    expect((await receiveAll(wake)).map(({ Body }) => JSON.parse(Body!))).toEqual([{ v: 1 }, { v: 1, generation: 7 }]);
  });

  it('may be delayed', async () => {
    const [dispatch, wake] = [await createQueue(), await createQueue()];
    vi.stubEnv('WAYBILL_DISPATCH_QUEUE_URL', dispatch);
    vi.stubEnv('WAYBILL_WAKE_QUEUE_URL', wake);
    const doorbell = createSqsDoorbell(log, client);
    await doorbell.pokeDispatcher({ delaySeconds: 900 });
    await doorbell.pokeManager({ delaySeconds: 900 });
    expect([...(await receiveAll(dispatch)), ...(await receiveAll(wake))]).toEqual([]);
    expect(lines).toEqual([]);
  });

  it('do not raise when nobody answers, and a wake says that it was not sent', async () => {
    vi.stubEnv('WAYBILL_DISPATCH_QUEUE_URL', await createQueue());
    vi.stubEnv('WAYBILL_WAKE_QUEUE_URL', await createQueue());
    const doorbell = createSqsDoorbell(log, connect(await closedPort()));
    await doorbell.pokeDispatcher();
    expect(await doorbell.pokeManager({ delaySeconds: 5 })).toBe(false);
    expect(lines.map(({ message }) => message)).toEqual(['a poke could not be sent', 'a poke could not be sent']);
  });

  it('raise when the stack did not say where to send them', async () => {
    vi.stubEnv('WAYBILL_DISPATCH_QUEUE_URL', '');
    await expect(async () => createSqsDoorbell(log, client).pokeDispatcher()).rejects.toMatchObject({ code: 'setting_missing' });
  });
});

interface BatchRequest {
  Entries: { Id: string }[];
}

/** Stands before the emulator and refuses single entries of a batch, as a throttled SQS does; the rest goes through. */
async function refuseSome(isRefused: (executionId: number) => boolean): Promise<{ url: string; close(): Promise<void> }> {
  const server = createServer(async (request, response) => {
    const batch = (await json(request)) as BatchRequest;
    const refused = batch.Entries.filter(({ Id }) => isRefused(Number(Id)));
    const passed = { ...batch, Entries: batch.Entries.filter((entry) => !refused.includes(entry)) };
    const answer = (await (
      await fetch(sqs.url, { method: 'POST', headers: passedHeaders(request), body: JSON.stringify(passed) })
    ).json()) as object;
    const Failed = refused.map(({ Id }) => ({ Id, Code: 'InternalError', SenderFault: false, Message: 'try again' }));
    response.writeHead(200, { 'content-type': 'application/x-amz-json-1.0' }).end(JSON.stringify({ ...answer, Failed }));
  });
  return { url: await listen(server), close: () => close(server) };
}

function passedHeaders({ headers }: IncomingMessage): Record<string, string> {
  return {
    'content-type': String(headers['content-type']),
    'x-amz-target': String(headers['x-amz-target']),
    authorization: String(headers.authorization),
  };
}

async function listen(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function close(server: Server): Promise<void> {
  server.close();
  server.closeAllConnections();
  await once(server, 'close');
}

/** An address at which nobody listens any more. */
async function closedPort(): Promise<string> {
  const server = createServer();
  const url = await listen(server);
  await close(server);
  return url;
}
