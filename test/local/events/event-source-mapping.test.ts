import {
  GetQueueAttributesCommand,
  ReceiveMessageCommand,
  SendMessageBatchCommand,
  SendMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import type { SQSEvent } from 'aws-lambda';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { type EventSourceMappingOptions, startEventSourceMapping } from '../../../local/events/event-source-mapping.ts';
import type { Problem } from '../../../local/events/problem.ts';
import type { InvocationResult } from '../../../local/lambda/invocation.ts';
import { type EmbeddedSqs, startEmbeddedSqs } from '../../../local/sqs/embedded-sqs.ts';
import { startGatekeeper } from './gatekeeper.ts';

const SUCCESS: InvocationResult = { status: 'succeeded', payload: null };
const FAILURE: InvocationResult = { status: 'failed', error: { errorType: 'Error', errorMessage: 'boom' } };

let sqs: EmbeddedSqs;
let client: SQSClient;
let queueCount = 0;
const closers: (() => Promise<unknown> | unknown)[] = [];

beforeAll(async () => {
  sqs = await startEmbeddedSqs();
  client = new SQSClient({ endpoint: sqs.url, region: 'us-east-1', credentials: { accessKeyId: 'sender', secretAccessKey: 'x' } });
});
afterAll(async () => {
  client.destroy();
  await sqs.close();
});
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

type Handler = (event: SQSEvent) => InvocationResult | Promise<InvocationResult>;

interface Settings {
  handler?: Handler;
  attributes?: Record<string, string>;
  mapping?: Partial<EventSourceMappingOptions>;
  endpoint?: string;
}

/** A queue of its own and a function on it. `bodies` are the messages of each invocation, in order. */
async function setUp({ handler = () => SUCCESS, attributes = {}, mapping = {}, endpoint = sqs.url }: Settings = {}) {
  const queue = await sqs.createQueue({ name: `queue-${++queueCount}`, attributes });
  const events: SQSEvent[] = [];
  const problems: Problem[] = [];
  const start = () => {
    const started = startEventSourceMapping({
      name: 'test-mapping',
      ...queue,
      client: { endpoint, accessKeyId: 'function-key' },
      region: 'us-east-1',
      batchSize: 10,
      maximumBatchingWindowSeconds: 0,
      reportBatchItemFailures: true,
      invoke: async (event) => {
        events.push(event as SQSEvent);
        return handler(event as SQSEvent);
      },
      onProblem: (problem) => problems.push(problem),
      ...mapping,
    });
    closers.push(started.stop);
    return started;
  };
  const send = (body: string) => client.send(new SendMessageCommand({ QueueUrl: queue.queueUrl, MessageBody: body }));
  const count = async () => {
    const names = ['ApproximateNumberOfMessages', 'ApproximateNumberOfMessagesNotVisible'] as const;
    const { Attributes } = await client.send(new GetQueueAttributesCommand({ QueueUrl: queue.queueUrl, AttributeNames: [...names] }));
    return { visible: Number(Attributes?.[names[0]]), hidden: Number(Attributes?.[names[1]]) };
  };
  const bodies = () => events.map(({ Records }) => Records.map(({ body }) => body));
  return { ...queue, events, problems, start, send, count, bodies };
}

const eventually = (assertion: () => void | Promise<void>) => vi.waitFor(assertion, { timeout: 15_000, interval: 20 });
const answering =
  (payload: unknown): Handler =>
  () => ({ status: 'succeeded', payload });

describe('a message', () => {
  it('reaches the function exactly as Lambda shows it, and is deleted afterwards', async () => {
    const { start, events, count, queueUrl, queueArn } = await setUp();
    await client.send(
      new SendMessageCommand({
        QueueUrl: queueUrl,
        MessageBody: '{"execution":"7"}',
        MessageAttributes: {
          origin: { DataType: 'String', StringValue: 'test' },
          picture: { DataType: 'Binary', BinaryValue: new Uint8Array([1, 2, 255]) },
        },
      }),
    );
    start();
    await eventually(async () => expect(await count()).toEqual({ visible: 0, hidden: 0 }));
    expect(events).toEqual([
      {
        Records: [
          {
            messageId: expect.stringMatching(/^[0-9a-f-]{36}$/),
            receiptHandle: expect.any(String),
            body: '{"execution":"7"}',
            attributes: {
              ApproximateReceiveCount: '1',
              SentTimestamp: expect.stringMatching(/^\d{13}$/),
              SenderId: expect.any(String),
              ApproximateFirstReceiveTimestamp: expect.stringMatching(/^\d{13}$/),
            },
            messageAttributes: {
              origin: { stringValue: 'test', stringListValues: [], binaryListValues: [], dataType: 'String' },
              picture: { binaryValue: 'AQL/', stringListValues: [], binaryListValues: [], dataType: 'Binary' },
            },
            md5OfBody: expect.stringMatching(/^[0-9a-f]{32}$/),
            md5OfMessageAttributes: expect.stringMatching(/^[0-9a-f]{32}$/),
            eventSource: 'aws:sqs',
            eventSourceARN: queueArn,
            awsRegion: 'us-east-1',
          },
        ],
      },
    ]);
  });

  it('that is sent to an idle queue is delivered at once', async () => {
    const arrivals: number[] = [];
    const { start, send } = await setUp({
      handler: () => {
        arrivals.push(performance.now());
        return SUCCESS;
      },
    });
    start();
    const delays: number[] = [];
    for (let round = 1; round <= 5; round++) {
      const sentAt = performance.now();
      await send(`${round}`);
      await eventually(() => expect(arrivals).toHaveLength(round));
      delays.push(arrivals[round - 1]! - sentAt);
    }
    // The best of five, because the machine may be busy with other tests.
    expect(Math.min(...delays)).toBeLessThan(50);
  });

  it('of a function that fails comes back after its visibility timeout, and goes to the dead-letter queue when the redrive policy says so', async () => {
    const dead = await sqs.createQueue({ name: `dead-${queueCount}`, attributes: {} });
    const RedrivePolicy = JSON.stringify({ deadLetterTargetArn: dead.queueArn, maxReceiveCount: 2 });
    const { start, send, events } = await setUp({ handler: () => FAILURE, attributes: { VisibilityTimeout: '1', RedrivePolicy } });
    await send('poison');
    start();
    const { Messages } = await client.send(new ReceiveMessageCommand({ QueueUrl: dead.queueUrl, WaitTimeSeconds: 20 }));
    expect(Messages?.[0]?.Body).toBe('poison');
    expect(events.map(({ Records }) => Records[0]!.attributes.ApproximateReceiveCount)).toEqual(['1', '2']);
  });
});

describe('the answer of a function with partial batch responses', () => {
  const sendThree = async (queueUrl: string) => {
    const Entries = ['a', 'b', 'c'].map((body) => ({ Id: body, MessageBody: body }));
    await client.send(new SendMessageBatchCommand({ QueueUrl: queueUrl, Entries }));
  };

  it('that names failures keeps those messages and deletes the others', async () => {
    const handler: Handler = ({ Records }) => ({
      status: 'succeeded',
      payload: { batchItemFailures: Records.filter(({ body }) => body === 'b').map(({ messageId }) => ({ itemIdentifier: messageId })) },
    });
    const { start, queueUrl, bodies, count } = await setUp({ handler, attributes: { VisibilityTimeout: '2' } });
    await sendThree(queueUrl);
    start();
    await eventually(async () => expect(await count()).toEqual({ visible: 0, hidden: 1 }));
    await eventually(() => expect(bodies().slice(0, 2)).toEqual([['a', 'b', 'c'], ['b']]));
  });

  it.each([[null], [''], [{}], [{ batchItemFailures: [] }], [{ batchItemFailures: null }], [{ other: 1 }]])(
    '%j means that every message succeeded',
    async (payload) => {
      const { start, queueUrl, events, count, problems } = await setUp({ handler: answering(payload) });
      await sendThree(queueUrl);
      start();
      await eventually(async () => {
        expect(events).not.toEqual([]);
        expect(await count()).toEqual({ visible: 0, hidden: 0 });
      });
      expect(problems).toEqual([]);
    },
  );

  it.each([
    ['done'],
    [[]],
    [{ batchItemFailures: 'b' }],
    [{ batchItemFailures: [{}] }],
    [{ batchItemFailures: [{ itemIdentifier: '' }] }],
    [{ batchItemFailures: [{ itemIdentifier: null }] }],
    [{ batchItemFailures: [{ itemidentifier: 'x' }] }],
    [{ batchItemFailures: [{ itemIdentifier: 'unknown' }] }],
    [{ batchItemFailures: [null] }],
  ])('%j is malformed: the whole batch stays, and it is reported', async (payload) => {
    const { start, queueUrl, problems, count } = await setUp({ handler: answering(payload) });
    await sendThree(queueUrl);
    const mapping = start();
    await eventually(() => expect(problems).toHaveLength(1));
    await mapping.stop();
    expect(problems[0]).toMatchObject({ source: 'test-mapping', message: expect.stringContaining('malformed') });
    expect(await count()).toEqual({ visible: 0, hidden: 3 });
  });

  it('is ignored when the mapping does not ask for it', async () => {
    const payload = { batchItemFailures: [{ itemIdentifier: 'unknown' }] };
    const { start, send, count, events } = await setUp({ handler: answering(payload), mapping: { reportBatchItemFailures: false } });
    await send('a');
    start();
    await eventually(async () => {
      expect(events).toHaveLength(1);
      expect(await count()).toEqual({ visible: 0, hidden: 0 });
    });
  });
});

describe('batches', () => {
  it('of more than ten are gathered from several receives', async () => {
    const { start, queueUrl, events, count } = await setUp({ mapping: { batchSize: 25, maximumBatchingWindowSeconds: 2 } });
    for (const group of ['a', 'b', 'c']) {
      const Entries = Array.from({ length: 10 }, (_, index) => ({ Id: `${index}`, MessageBody: `${group}${index}` }));
      await client.send(new SendMessageBatchCommand({ QueueUrl: queueUrl, Entries }));
    }
    start();
    await eventually(async () => {
      expect(events.map(({ Records }) => Records.length)).toEqual([25, 5]);
      expect(await count()).toEqual({ visible: 0, hidden: 0 });
    });
  });

  it('are delivered when the window is over, however few there are', async () => {
    const { start, send, bodies } = await setUp({ mapping: { batchSize: 100, maximumBatchingWindowSeconds: 1 } });
    start();
    await send('first');
    await send('second');
    await eventually(() => expect(bodies()).toEqual([['first', 'second']]));
  });

  it('never carry more than an invocation can', async () => {
    const { start, queueUrl, events, count } = await setUp();
    const body = 'x'.repeat(1_000_000);
    for (let index = 0; index < 8; index++) await client.send(new SendMessageCommand({ QueueUrl: queueUrl, MessageBody: body }));
    start();
    await eventually(async () => expect(await count()).toEqual({ visible: 0, hidden: 0 }));
    expect(events.map(({ Records }) => Records.length)).toEqual([6, 2]);
  });

  it.each([
    [{ batchSize: 11 }, /needs a batching window/],
    [{ batchSize: 0 }, /batch size 0 is invalid: it must be 1-10000/],
    [{ maximumBatchingWindowSeconds: 301 }, /it must be 0-300 seconds/],
    [{ maximumConcurrency: 0 }, /it must be 1-1000/],
  ])('with %j are refused', async (mapping, message) => {
    const { start } = await setUp({ mapping });
    expect(start).toThrow(message);
  });
});

describe('concurrency', () => {
  it('stays within its limit, and nothing is received while no invocation may start', async () => {
    const gatekeeper = await startGatekeeper(sqs.url);
    closers.push(gatekeeper.close);
    let running = 0;
    let most = 0;
    const releases: (() => void)[] = [];
    const handler: Handler = async () => {
      most = Math.max(most, ++running);
      await new Promise<void>((resolve) => releases.push(resolve));
      running--;
      return SUCCESS;
    };
    const mapping = { batchSize: 1, maximumConcurrency: 2 };
    const { start, send, count, events } = await setUp({ handler, mapping, endpoint: gatekeeper.url });
    for (const body of ['a', 'b', 'c', 'd']) await send(body);
    start();
    await eventually(() => expect(releases).toHaveLength(2));
    expect(await count()).toEqual({ visible: 2, hidden: 2 });
    expect(gatekeeper.requests.filter(({ action }) => action === 'ReceiveMessage')).toHaveLength(2);

    releases.shift()!();
    await eventually(() => expect(events).toHaveLength(3));
    while (events.length < 4 || releases.length > 0) {
      releases.shift()?.();
      await eventually(() => expect(releases.length + Number(events.length === 4)).toBeGreaterThan(0));
    }
    await eventually(async () => expect(await count()).toEqual({ visible: 0, hidden: 0 }));
    expect(most).toBe(2);
  });

  it('that the function itself lacks delays a batch without receiving it again', async () => {
    let refusals = 3;
    const { start, send, count, events } = await setUp({ handler: () => (refusals-- > 0 ? { status: 'throttled' } : SUCCESS) });
    await send('patient');
    start();
    await eventually(async () => {
      expect(events).toHaveLength(4);
      expect(await count()).toEqual({ visible: 0, hidden: 0 });
    });
    expect(new Set(events.map(({ Records }) => Records[0]!.receiptHandle)).size).toBe(1);
  });

  it('that is lacking for longer than the visibility timeout leaves the messages to the queue', async () => {
    const { start, send, events } = await setUp({ handler: () => ({ status: 'throttled' }), attributes: { VisibilityTimeout: '1' } });
    await send('patient');
    start();
    const receiveCounts = () => events.map(({ Records }) => Records[0]?.attributes.ApproximateReceiveCount ?? '');
    await eventually(() => expect(receiveCounts()).toContain('3'));
    expect(receiveCounts(), 'a delivery whose time is over is not tried again').toEqual(receiveCounts().toSorted());
  });
});

describe('permissions and outages', () => {
  it('polls with the function’s own access key, and looks at the queue before it receives', async () => {
    const gatekeeper = await startGatekeeper(sqs.url);
    closers.push(gatekeeper.close);
    const { start, send, count, events } = await setUp({ endpoint: gatekeeper.url });
    await send('a');
    start();
    await eventually(async () => {
      expect(events).toHaveLength(1);
      expect(await count()).toEqual({ visible: 0, hidden: 0 });
    });
    expect(gatekeeper.requests.slice(0, 2).map(({ action }) => action)).toEqual(['GetQueueAttributes', 'ReceiveMessage']);
    expect(gatekeeper.requests.map(({ action }) => action)).toContain('DeleteMessageBatch');
    expect(new Set(gatekeeper.requests.map(({ accessKeyId }) => accessKeyId))).toEqual(new Set(['function-key']));
  });

  it.each(['GetQueueAttributes', 'ReceiveMessage'])(
    'a role that may not %s is reported once, asked slowly, and noticed when it may',
    async (forbidden) => {
      const gatekeeper = await startGatekeeper(sqs.url);
      closers.push(gatekeeper.close);
      gatekeeper.judge = (action) => (action === forbidden ? 'deny' : 'pass');
      const { start, send, problems, events } = await setUp({ endpoint: gatekeeper.url });
      await send('a');
      start();
      const asked = () => gatekeeper.requests.filter(({ action }) => action === forbidden);
      await eventually(() => expect(problems).toHaveLength(1));
      expect(problems[0]!.message).toMatch(/access denied: .*Grant the function's role sqs:ReceiveMessage/);
      gatekeeper.judge = () => 'pass';
      await eventually(() => expect(events).toHaveLength(1));
      expect(asked()[1]!.at - asked()[0]!.at).toBeGreaterThan(4_000);
      expect(problems).toHaveLength(1);
    },
  );

  it('a queue that fails for a while is reported once and then polled again', async () => {
    const gatekeeper = await startGatekeeper(sqs.url);
    closers.push(gatekeeper.close);
    gatekeeper.judge = () => 'break';
    const { start, send, problems, events } = await setUp({ endpoint: gatekeeper.url });
    await send('a');
    start();
    await eventually(() => expect(gatekeeper.requests.length).toBeGreaterThan(6));
    gatekeeper.judge = () => 'pass';
    await eventually(() => expect(events).toHaveLength(1));
    expect(problems).toHaveLength(1);
  });

  it('messages that cannot be deleted are reported', async () => {
    const gatekeeper = await startGatekeeper(sqs.url);
    closers.push(gatekeeper.close);
    gatekeeper.judge = (action) => (action === 'DeleteMessageBatch' ? 'deny' : 'pass');
    const { start, send, problems } = await setUp({ endpoint: gatekeeper.url });
    await send('a');
    start();
    await eventually(() => expect(problems).toMatchObject([{ message: expect.stringMatching(/will be delivered again: access denied/) }]));
  });

  it('an invocation that rejects is reported and does not end the poller', async () => {
    let calls = 0;
    const handler: Handler = () => {
      if (++calls === 1) throw new Error('the function went away');
      return SUCCESS;
    };
    const { start, send, problems, count } = await setUp({ handler, attributes: { VisibilityTimeout: '1' } });
    await send('a');
    start();
    await eventually(async () => {
      expect(calls).toBe(2);
      expect(await count()).toEqual({ visible: 0, hidden: 0 });
    });
    expect(problems).toMatchObject([{ message: expect.stringContaining('the function went away') }]);
  });
});

describe('stop', () => {
  it('ends an open long poll at once, and the next message goes to the next mapping', async () => {
    const gatekeeper = await startGatekeeper(sqs.url);
    closers.push(gatekeeper.close);
    const { start, send, events } = await setUp({ endpoint: gatekeeper.url, attributes: { VisibilityTimeout: '300' } });
    const first = start();
    await eventually(() => expect(gatekeeper.requests.map(({ action }) => action)).toContain('ReceiveMessage'));
    const stoppedAt = performance.now();
    await first.stop();
    expect(performance.now() - stoppedAt).toBeLessThan(2_000);
    await eventually(() => expect(gatekeeper.openCount).toBe(0));

    start();
    await send('a');
    await eventually(() => expect(events).toHaveLength(1));
  });

  it('waits for the invocations under way and deletes their messages', async () => {
    const release = Promise.withResolvers<void>();
    const handler: Handler = () => release.promise.then(() => SUCCESS);
    const { start, send, events, count } = await setUp({ handler });
    await send('a');
    const mapping = start();
    await eventually(() => expect(events).toHaveLength(1));
    let isStopped = false;
    const stopped = mapping.stop().then(() => {
      isStopped = true;
    });
    await send('b');
    expect(isStopped).toBe(false);
    release.resolve();
    await stopped;
    expect(await count()).toEqual({ visible: 1, hidden: 0 });
    expect(events).toHaveLength(1);
  });
});
