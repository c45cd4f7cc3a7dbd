import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import {
  ChangeMessageVisibilityCommand,
  CreateQueueCommand,
  DeleteMessageCommand,
  GetQueueAttributesCommand,
  ReceiveMessageCommand,
  SendMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import { afterEach, describe, expect, it } from 'vitest';
import { type EmbeddedSqs, startEmbeddedSqs } from '../../../local/sqs/embedded-sqs.ts';
import { useTemporaryDirectory } from '../../support/temporary-directory.ts';

const directory = useTemporaryDirectory();
const closers: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function start(options: Parameters<typeof startEmbeddedSqs>[0] = {}): Promise<{ sqs: EmbeddedSqs; client: SQSClient }> {
  const sqs = await startEmbeddedSqs(options);
  closers.push(sqs.close);
  return { sqs, client: connect(sqs.url) };
}

function connect(endpoint: string): SQSClient {
  const client = new SQSClient({ endpoint, region: 'us-east-1', credentials: { accessKeyId: 'test', secretAccessKey: 'test' } });
  closers.push(() => client.destroy());
  return client;
}

async function attributesOf(client: SQSClient, queueUrl: string): Promise<Record<string, string>> {
  const { Attributes } = await client.send(new GetQueueAttributesCommand({ QueueUrl: queueUrl, AttributeNames: ['All'] }));
  return Attributes as Record<string, string>;
}

async function receive(client: SQSClient, queueUrl: string, waitSeconds = 5) {
  const { Messages } = await client.send(new ReceiveMessageCommand({ QueueUrl: queueUrl, WaitTimeSeconds: waitSeconds }));
  return Messages?.[0];
}

describe('a queue', () => {
  it('is created with the given attributes, under the local account and region', async () => {
    const { sqs, client } = await start();
    const { queueUrl, queueArn } = await sqs.createQueue({ name: 'work', attributes: { VisibilityTimeout: '90', DelaySeconds: '3' } });
    expect(queueUrl).toBe(`${sqs.url}/000000000000/work`);
    expect(queueArn).toBe('arn:aws:sqs:us-east-1:000000000000:work');
    expect(await attributesOf(client, queueUrl)).toMatchObject({ QueueArn: queueArn, VisibilityTimeout: '90', DelaySeconds: '3' });
  });

  it('that is created again keeps its messages and takes the new attributes, the unstated ones going back to their defaults', async () => {
    const { sqs, client } = await start({ dataDirectory: join(directory.path, 'again') });
    const dead = await sqs.createQueue({ name: 'dead', attributes: {} });
    const redrivePolicy = JSON.stringify({ deadLetterTargetArn: dead.queueArn, maxReceiveCount: 1 });
    await sqs.createQueue({ name: 'work', attributes: { VisibilityTimeout: '90', RedrivePolicy: redrivePolicy } });
    const { queueUrl } = await sqs.createQueue({ name: 'work', attributes: { VisibilityTimeout: '60', RedrivePolicy: redrivePolicy } });
    await client.send(new SendMessageCommand({ QueueUrl: queueUrl, MessageBody: 'kept' }));
    await sqs.createQueue({ name: 'work', attributes: { DelaySeconds: '1' } });

    const attributes = await attributesOf(client, queueUrl);
    expect(attributes).toMatchObject({ VisibilityTimeout: '30', DelaySeconds: '1' });
    expect(attributes.RedrivePolicy).toBeUndefined();
    expect((await receive(client, queueUrl))?.Body).toBe('kept');
  });

  it('refuses an attribute that SQS would refuse', async () => {
    const { sqs } = await start();
    await expect(sqs.createQueue({ name: 'work', attributes: { DelaySeconds: '901' } })).rejects.toThrow(/DelaySeconds/);
  });
});

describe('a message', () => {
  it('survives kill -9 once it was acknowledged, and so does its deletion and its redrive', async () => {
    const dataDirectory = join(directory.path, 'killed');
    const child = spawn(process.execPath, [join(import.meta.dirname, 'embedded-sqs-process.ts'), dataDirectory], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const exited = once(child, 'exit');
    closers.push(() => void child.kill('SIGKILL'));
    const [childUrl] = (await once(createInterface(child.stdout), 'line')) as [string];
    const childClient = connect(childUrl);
    const queueUrl = await createWithRedrive(childClient, childUrl);
    for (const body of ['deleted', 'redriven', 'waiting'])
      await childClient.send(new SendMessageCommand({ QueueUrl: queueUrl, MessageBody: body }));
    const deleted = await receive(childClient, queueUrl);
    await childClient.send(new DeleteMessageCommand({ QueueUrl: queueUrl, ReceiptHandle: deleted!.ReceiptHandle }));
    const redriven = await receive(childClient, queueUrl);
    await childClient.send(
      new ChangeMessageVisibilityCommand({ QueueUrl: queueUrl, ReceiptHandle: redriven!.ReceiptHandle, VisibilityTimeout: 0 }),
    );
    const hidden = await receive(childClient, queueUrl);
    expect([deleted!.Body, redriven!.Body, hidden!.Body]).toEqual(['deleted', 'redriven', 'waiting']);
    expect(await receive(childClient, queueUrl, 0), 'the second receive of one message moves it to the dead letters').toBeUndefined();
    child.kill('SIGKILL');
    await exited;

    const { sqs, client } = await start({ dataDirectory });
    expect(await attributesOf(client, `${sqs.url}/000000000000/work`)).toMatchObject({
      ApproximateNumberOfMessages: '0',
      ApproximateNumberOfMessagesNotVisible: '1',
      VisibilityTimeout: '300',
    });
    expect((await receive(client, `${sqs.url}/000000000000/dead`))?.Body).toBe('redriven');
  });

  it('that was made visible at once is received again, with persistence too', async () => {
    const { sqs, client } = await start({ dataDirectory: join(directory.path, 'visible') });
    const { queueUrl } = await sqs.createQueue({ name: 'work', attributes: {} });
    await client.send(new SendMessageCommand({ QueueUrl: queueUrl, MessageBody: 'again' }));
    const { ReceiptHandle } = (await receive(client, queueUrl))!;
    await client.send(new ChangeMessageVisibilityCommand({ QueueUrl: queueUrl, ReceiptHandle, VisibilityTimeout: 0 }));
    expect((await receive(client, queueUrl))?.Body).toBe('again');
  });

  it('is not swallowed by a long poll whose caller has hung up', async () => {
    const { sqs, client } = await start({ dataDirectory: join(directory.path, 'abandoned') });
    const { queueUrl } = await sqs.createQueue({ name: 'work', attributes: { VisibilityTimeout: '300' } });
    // The abandoned poll goes through a relay, whose closed connection tells us that the emulator's end is closed as well.
    const relay = await startRelay(sqs.url);
    const abandoned = new AbortController();
    const poll = connect(relay.url).send(new ReceiveMessageCommand({ QueueUrl: queueUrl, WaitTimeSeconds: 20 }), {
      abortSignal: abandoned.signal,
    });
    await relay.requestArrived;
    abandoned.abort();
    await expect(poll).rejects.toThrow(/abort/i);
    await relay.connectionClosed;

    await client.send(new SendMessageCommand({ QueueUrl: queueUrl, MessageBody: 'for the living' }));
    const { Messages } = await client.send(
      new ReceiveMessageCommand({ QueueUrl: queueUrl, WaitTimeSeconds: 5, MessageSystemAttributeNames: ['ApproximateReceiveCount'] }),
    );
    expect(Messages).toMatchObject([{ Body: 'for the living', Attributes: { ApproximateReceiveCount: '1' } }]);
  });
});

it('listens on the loopback interface only', async () => {
  const { sqs } = await start();
  expect(new URL(sqs.url).hostname).toBe('127.0.0.1');
  const others = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  for (const { address } of others.filter(({ internal, family }) => !internal && family === 'IPv4')) {
    await expect(fetch(`http://${address}:${new URL(sqs.url).port}/health`)).rejects.toThrow();
  }
});

it('fails to start on a port that is taken, and leaves its data directory usable', async () => {
  const { sqs } = await start();
  const dataDirectory = join(directory.path, 'taken');
  await expect(startEmbeddedSqs({ dataDirectory, port: Number(new URL(sqs.url).port) })).rejects.toMatchObject({ code: 'EADDRINUSE' });
  await start({ dataDirectory });
});

async function createWithRedrive(client: SQSClient, url: string): Promise<string> {
  await client.send(new CreateQueueCommand({ QueueName: 'dead' }));
  const RedrivePolicy = JSON.stringify({ deadLetterTargetArn: 'arn:aws:sqs:us-east-1:000000000000:dead', maxReceiveCount: 1 });
  await client.send(new CreateQueueCommand({ QueueName: 'work', Attributes: { VisibilityTimeout: '300', RedrivePolicy } }));
  return `${url}/000000000000/work`;
}

/** Passes one request on and hangs up towards the emulator when its own caller does. */
async function startRelay(target: string) {
  const requestArrived = Promise.withResolvers<void>();
  const connectionClosed = Promise.withResolvers<void>();
  const server = createServer((request, response) => {
    const onward = send(target, { method: request.method, headers: request.headers, agent: false });
    request.pipe(onward).on('finish', requestArrived.resolve);
    onward.on('response', (answer) => answer.pipe(response));
    onward.on('error', () => {});
    onward.on('close', connectionClosed.resolve);
    response.on('close', () => onward.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closers.push(() => void server.close());
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requestArrived: requestArrived.promise,
    connectionClosed: connectionClosed.promise,
  };
}
