import { once } from 'node:events';
import { connect } from 'node:net';
import { GetScheduleCommand, SchedulerClient } from '@aws-sdk/client-scheduler';
import { CreateSecretCommand, GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import {
  ChangeMessageVisibilityBatchCommand,
  DeleteMessageBatchCommand,
  DeleteMessageCommand,
  GetQueueAttributesCommand,
  GetQueueUrlCommand,
  ListQueuesCommand,
  ReceiveMessageCommand,
  SendMessageBatchCommand,
  SendMessageCommand,
  SQSClient,
  StartMessageMoveTaskCommand,
} from '@aws-sdk/client-sqs';
import { type FauxqsServer, startFauxqs } from 'fauxqs';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Caller, Refusal } from '../../../local/aws-endpoint/aws-call.ts';
import { LocalSecretStore } from '../../../local/aws-endpoint/local-secret-store.ts';
import { type AwsEndpoint, startAwsEndpoint } from '../../../local/aws-endpoint/start-aws-endpoint.ts';
import type { Statement } from '../../../local/iam/evaluate.ts';

const region = 'us-east-1';
const account = '000000000000';
const roleArn = `arn:aws:iam::${account}:role/Demo-Manager`;
const arnOf = (queue: string) => `arn:aws:sqs:${region}:${account}:${queue}`;

let fauxqs: FauxqsServer;
let endpoint: AwsEndpoint;
const secrets = new LocalSecretStore({ region, account });
const callers = new Map<string, Caller>();
const refusals: Refusal[] = [];
const clients: { destroy(): void }[] = [];
let onRequest = () => {};

beforeAll(async () => {
  fauxqs = await startFauxqs({ port: 0, logger: false });
  fauxqs.createQueue('jobs');
  fauxqs.createQueue('other');
  endpoint = await startAwsEndpoint({
    region,
    account,
    callers: () => {
      onRequest();
      return callers;
    },
    sqsUrl: `http://127.0.0.1:${fauxqs.port}`,
    secrets,
    onRefused: (refusal) => refusals.push(refusal),
  });
});
afterAll(async () => {
  await endpoint.close();
  await fauxqs.stop();
});
beforeEach(() => {
  callers.clear();
  refusals.length = 0;
  fauxqs.reset();
});
afterEach(() => {
  for (const client of clients.splice(0)) client.destroy();
  vi.unstubAllEnvs();
});

/** Resolves when the endpoint has read its next request and is about to pass it on. */
function nextRequest(): Promise<void> {
  return new Promise((resolve) => {
    onRequest = resolve;
  });
}

const allow = (Action: string | string[], Resource: string | string[]): Statement => ({ Effect: 'Allow', Action, Resource });
const queueUrl = (queue: string) => `${endpoint.url}/${account}/${queue}`;

function track<T extends { destroy(): void }>(client: T): T {
  clients.push(client);
  return client;
}

/** Settings of an SDK client inside a function with these permissions. */
function functionWith(...statements: Statement[]) {
  callers.set('LOCALMANAGER', { name: 'Manager', roleArn, statements });
  return { region, endpoint: endpoint.url, maxAttempts: 1, credentials: { accessKeyId: 'LOCALMANAGER', secretAccessKey: 'unused' } };
}
const sqsWith = (...statements: Statement[]) => track(new SQSClient(functionWith(...statements)));
const secretsWith = (...statements: Statement[]) => track(new SecretsManagerClient(functionWith(...statements)));
const stranger = () => ({ ...functionWith(), credentials: { accessKeyId: 'STRANGER', secretAccessKey: 'unused' } });

describe('SQS', () => {
  it('carries a message from sender to receiver when the role allows every step', async () => {
    const sqs = sqsWith(allow(['sqs:SendMessage', 'sqs:ReceiveMessage', 'sqs:DeleteMessage', 'sqs:GetQueueAttributes'], arnOf('jobs')));
    await sqs.send(new SendMessageCommand({ QueueUrl: queueUrl('jobs'), MessageBody: 'ding "é"' }));
    const { Messages: messages = [] } = await sqs.send(new ReceiveMessageCommand({ QueueUrl: queueUrl('jobs') }));
    expect(messages.map(({ Body }) => Body)).toEqual(['ding "é"']);
    await sqs.send(new DeleteMessageCommand({ QueueUrl: queueUrl('jobs'), ReceiptHandle: messages[0]?.ReceiptHandle }));
    const { Attributes } = await sqs.send(new GetQueueAttributesCommand({ QueueUrl: queueUrl('jobs'), AttributeNames: ['All'] }));
    expect(Attributes).toMatchObject({ QueueArn: arnOf('jobs'), ApproximateNumberOfMessagesNotVisible: '0' });
    expect(refusals).toEqual([]);
  });

  it('refuses what no policy allows, naming role, function, action and queue, and the emulator never sees it', async () => {
    const sqs = sqsWith(allow('sqs:SendMessage', arnOf('other')));
    const sending = sqs.send(new SendMessageCommand({ QueueUrl: queueUrl('jobs'), MessageBody: 'x' }));
    await expect(sending).rejects.toMatchObject({
      name: 'AccessDeniedException',
      message:
        `User: ${roleArn} (function Manager) is not authorized to perform: sqs:SendMessage on resource: ${arnOf('jobs')} ` +
        'because no identity-based policy allows the sqs:SendMessage action',
      $metadata: { httpStatusCode: 403, attempts: 1 },
    });
    expect(refusals).toEqual([{ functionName: 'Manager', action: 'sqs:SendMessage', resource: arnOf('jobs'), reason: 'implicit' }]);
    expect(fauxqs.inspectQueue('jobs')?.messages.ready).toEqual([]);
  });

  it('says so when a policy forbids the call', async () => {
    const sqs = sqsWith(allow('*', '*'), { Effect: 'Deny', Action: 'sqs:Send*', Resource: '*' });
    const sending = sqs.send(new SendMessageCommand({ QueueUrl: queueUrl('jobs'), MessageBody: 'x' }));
    await expect(sending).rejects.toThrow(/with an explicit deny in an identity-based policy/);
    expect(refusals).toMatchObject([{ reason: 'explicit' }]);
  });

  it('asks for the permission of the single action when a batch is sent', async () => {
    const entry = { Id: '1', ReceiptHandle: 'r', MessageBody: 'x', VisibilityTimeout: 0 };
    const input = { QueueUrl: queueUrl('jobs'), Entries: [entry] };
    const sqs = sqsWith();
    await expect(sqs.send(new SendMessageBatchCommand(input))).rejects.toThrow('sqs:SendMessage on');
    await expect(sqs.send(new DeleteMessageBatchCommand(input))).rejects.toThrow('sqs:DeleteMessage on');
    await expect(sqs.send(new ChangeMessageVisibilityBatchCommand(input))).rejects.toThrow('sqs:ChangeMessageVisibility on');
    const sender = sqsWith(allow('sqs:SendMessage', arnOf('jobs')));
    expect((await sender.send(new SendMessageBatchCommand(input))).Successful).toHaveLength(1);
  });

  it('answers with queue URLs that lead back through this endpoint', async () => {
    const sqs = sqsWith(allow('sqs:GetQueueUrl', arnOf('jobs')), allow('sqs:ListQueues', '*'));
    expect((await sqs.send(new GetQueueUrlCommand({ QueueName: 'jobs' }))).QueueUrl).toBe(queueUrl('jobs'));
    expect((await sqs.send(new ListQueuesCommand({}))).QueueUrls).toEqual([queueUrl('jobs'), queueUrl('other')]);
    await expect(sqs.send(new GetQueueUrlCommand({ QueueName: 'other' }))).rejects.toThrow(
      `sqs:GetQueueUrl on resource: ${arnOf('other')}`,
    );
  });

  it('needs permission on everything to list queues', async () => {
    await expect(sqsWith(allow('sqs:*', arnOf('*'))).send(new ListQueuesCommand({}))).rejects.toThrow('sqs:ListQueues on resource: *');
  });

  it("passes the emulator's own errors on", async () => {
    const sqs = sqsWith(allow('sqs:*', '*'));
    const sending = sqs.send(new SendMessageCommand({ QueueUrl: queueUrl('nowhere'), MessageBody: 'x' }));
    await expect(sending).rejects.toMatchObject({ name: 'QueueDoesNotExist', $metadata: { httpStatusCode: 400 } });
  });

  it.each([
    ['a query that the emulator would read as another queue', 'http://127.0.0.1/000000000000/jobs?/other'],
    ['a fragment', 'http://127.0.0.1/000000000000/jobs#/other'],
    ['a deeper path', 'http://127.0.0.1/000000000000/jobs/other'],
    ['a bare name', 'jobs'],
  ])('refuses a queue URL with %s', async (_, url) => {
    const sqs = sqsWith(allow('sqs:SendMessage', arnOf('jobs')));
    await expect(sqs.send(new SendMessageCommand({ QueueUrl: url, MessageBody: 'x' }))).rejects.toMatchObject({ name: 'InvalidAddress' });
  });

  it('knows no queues of other accounts', async () => {
    const command = new SendMessageCommand({ QueueUrl: `${endpoint.url}/111111111111/jobs`, MessageBody: 'x' });
    await expect(sqsWith(allow('*', arnOf('*'))).send(command)).rejects.toThrow('arn:aws:sqs:us-east-1:111111111111:jobs');
    await expect(sqsWith(allow('*', '*')).send(command)).rejects.toMatchObject({ name: 'QueueDoesNotExist' });
  });

  it('carries messages of one mebibyte, however they are written', async () => {
    const sqs = sqsWith(allow('sqs:*', '*'));
    const body = '"\n'.repeat(512 * 1024);
    await sqs.send(new SendMessageCommand({ QueueUrl: queueUrl('jobs'), MessageBody: body }));
    const { Messages } = await sqs.send(new ReceiveMessageCommand({ QueueUrl: queueUrl('jobs') }));
    expect(Messages?.[0]?.Body === body).toBe(true);
  });

  it('wakes a long poll when a message arrives', async () => {
    const sqs = sqsWith(allow('sqs:*', '*'));
    const polling = sqs.send(new ReceiveMessageCommand({ QueueUrl: queueUrl('jobs'), WaitTimeSeconds: 20 }));
    await sqs.send(new SendMessageCommand({ QueueUrl: queueUrl('jobs'), MessageBody: 'ding' }));
    expect((await polling).Messages?.map(({ Body }) => Body)).toEqual(['ding']);
  });

  it('hands messages that were meant for an abandoned long poll to the next one at once', async () => {
    const sqs = sqsWith(allow('sqs:*', '*'));
    const abandon = new AbortController();
    const arrived = nextRequest();
    const abandoned = sqs.send(new ReceiveMessageCommand({ QueueUrl: queueUrl('jobs'), WaitTimeSeconds: 20 }), {
      abortSignal: abandon.signal,
    });
    await arrived;
    abandon.abort();
    await expect(abandoned).rejects.toMatchObject({ name: 'AbortError' });
    // By the time a later request has been answered, the endpoint has seen the connection close.
    await sqs.send(new ListQueuesCommand({}));
    fauxqs.sendMessage('jobs', 'ding');
    const next = await sqs.send(new ReceiveMessageCommand({ QueueUrl: queueUrl('jobs'), WaitTimeSeconds: 10 }));
    expect(next.Messages?.map(({ Body }) => Body)).toEqual(['ding']);
  });

  it('does not pretend to actions that the emulator lacks', async () => {
    const sqs = sqsWith(allow('sqs:*', '*'));
    const moving = sqs.send(new StartMessageMoveTaskCommand({ SourceArn: arnOf('jobs') }));
    await expect(moving).rejects.toMatchObject({ name: 'NotImplemented', $metadata: { httpStatusCode: 501 } });
    expect(refusals).toMatchObject([{ action: 'sqs:StartMessageMoveTask', reason: 'not_emulated' }]);
  });
});

describe('Secrets Manager', () => {
  it('answers the value of a secret by name, ARN and ARN without suffix, to a role that may read it', async () => {
    const arn = secrets.put('waybill/database-url', 'postgres://…');
    const client = secretsWith(
      allow('secretsmanager:GetSecretValue', `arn:aws:secretsmanager:${region}:${account}:secret:waybill/database-url-??????`),
    );
    for (const SecretId of ['waybill/database-url', arn, arn.slice(0, -7)]) {
      const secret = await client.send(new GetSecretValueCommand({ SecretId }));
      expect(secret).toMatchObject({ ARN: arn, Name: 'waybill/database-url', SecretString: 'postgres://…', VersionStages: ['AWSCURRENT'] });
      expect(secret.CreatedDate).toBeInstanceOf(Date);
    }
  });

  it('refuses a secret that the role may not read', async () => {
    const arn = secrets.put('private', 'x');
    const reading = secretsWith(allow('*', `${arn}x`)).send(new GetSecretValueCommand({ SecretId: 'private' }));
    await expect(reading).rejects.toMatchObject({
      name: 'AccessDeniedException',
      message: expect.stringContaining(`secretsmanager:GetSecretValue on resource: ${arn} because no`),
    });
    expect(refusals).toEqual([{ functionName: 'Manager', action: 'secretsmanager:GetSecretValue', resource: arn, reason: 'implicit' }]);
  });

  it('knows no other secrets, versions or actions', async () => {
    secrets.put('known', 'x');
    const client = secretsWith(allow('*', '*'));
    const notFound = { name: 'ResourceNotFoundException', $metadata: { httpStatusCode: 400 } };
    await expect(client.send(new GetSecretValueCommand({ SecretId: 'unknown' }))).rejects.toMatchObject(notFound);
    await expect(client.send(new GetSecretValueCommand({ SecretId: 'known', VersionStage: 'AWSPREVIOUS' }))).rejects.toMatchObject(
      notFound,
    );
    await expect(client.send(new CreateSecretCommand({ Name: 'new' }))).rejects.toMatchObject({
      name: 'NotImplemented',
      message: expect.stringMatching(/function Manager called the action 'CreateSecret' of service 'secretsmanager'.*--aws-profile/),
    });
  });
});

describe('callers', () => {
  it('with an unknown access key are turned away', async () => {
    const sqs = track(new SQSClient(stranger()));
    const refused = { message: expect.stringContaining("access key 'STRANGER'"), $metadata: { httpStatusCode: 403 } };
    await expect(sqs.send(new ListQueuesCommand({}))).rejects.toMatchObject({ name: 'InvalidClientTokenId', ...refused });
    const manager = track(new SecretsManagerClient(stranger()));
    const reading = manager.send(new GetSecretValueCommand({ SecretId: 'x' }));
    await expect(reading).rejects.toMatchObject({ name: 'UnrecognizedClientException', ...refused });
  });

  it('without a signature are turned away', async () => {
    const response = await fetch(endpoint.url, { method: 'POST', headers: { 'x-amz-target': 'AmazonSQS.ListQueues' }, body: '{}' });
    expect(response.status).toBe(403);
    expect(await response.json()).toMatchObject({ __type: 'MissingAuthenticationTokenException' });
  });

  it('are judged by the permissions they have at that moment', async () => {
    const sqs = sqsWith();
    const command = new SendMessageCommand({ QueueUrl: queueUrl('jobs'), MessageBody: 'x' });
    await expect(sqs.send(command)).rejects.toThrow('not authorized');
    functionWith(allow('sqs:SendMessage', arnOf('jobs')));
    await expect(sqs.send(command)).resolves.toMatchObject({ MessageId: expect.any(String) });
  });

  it('who send too much are told so', async () => {
    functionWith(allow('*', '*'));
    const authorization = 'AWS4-HMAC-SHA256 Credential=LOCALMANAGER/20260101/us-east-1/sqs/aws4_request, SignedHeaders=host, Signature=0';
    const response = await fetch(endpoint.url, { method: 'POST', headers: { authorization }, body: Buffer.alloc(9 * 1024 * 1024) });
    expect([response.status, await response.json()]).toMatchObject([413, { __type: 'RequestEntityTooLarge' }]);
  });
});

describe('a service that is not emulated', () => {
  it('is refused by name, with the function, the action and what to do, and not retried', async () => {
    const client = track(new SchedulerClient({ ...functionWith(allow('*', '*')), maxAttempts: 3 }));
    await expect(client.send(new GetScheduleCommand({ Name: 'wake' }))).rejects.toMatchObject({
      name: 'ServiceNotEmulated',
      message: expect.stringMatching(/function Manager called service 'scheduler' \(action 'GET \/schedules\/wake'\).*--aws-profile/),
      $metadata: { httpStatusCode: 501, attempts: 1 },
    });
    expect(refusals).toEqual([{ functionName: 'Manager', action: 'scheduler:GET /schedules/wake', resource: '*', reason: 'not_emulated' }]);
  });

  it.each([
    ['a service that speaks in forms', 'sns', 'Action=Publish&Message=a', '<Code>ServiceNotEmulated</Code>', "action 'Publish'"],
    [
      'S3, however large the upload',
      's3',
      'x'.repeat(9 * 1024 * 1024),
      '<Error><Code>ServiceNotEmulated</Code>',
      "action 'POST /bucket/key'",
    ],
  ])('is refused in XML if it is %s', async (_, service, body, code, action) => {
    functionWith();
    const authorization = `AWS4-HMAC-SHA256 Credential=LOCALMANAGER/20260101/us-east-1/${service}/aws4_request, SignedHeaders=host, Signature=0`;
    const headers = { authorization, 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' };
    const response = await fetch(`${endpoint.url}/bucket/key?x=1`, { method: 'POST', headers, body });
    const text = await response.text();
    expect(response.status).toBe(501);
    expect(text).toContain(code);
    expect(text).toContain(action);
  });
});

describe('the endpoint', () => {
  const settings = {
    region,
    account,
    callers: () => callers,
    secrets,
    onRefused: () => {},
    get sqsUrl() {
      return `http://127.0.0.1:${fauxqs.port}`;
    },
  };

  it('reports a port that is taken', async () => {
    await expect(startAwsEndpoint({ ...settings, port: endpoint.port })).rejects.toThrow(`port ${endpoint.port} is in use`);
  });

  it('answers with an error worth retrying while the emulator is away', async () => {
    const lonely = await startAwsEndpoint({ ...settings, sqsUrl: 'http://127.0.0.1:1' });
    const sqs = track(new SQSClient({ ...functionWith(allow('*', '*')), endpoint: lonely.url }));
    await expect(sqs.send(new ListQueuesCommand({}))).rejects.toMatchObject({
      name: 'ServiceUnavailable',
      $metadata: { httpStatusCode: 503 },
    });
    await lonely.close();
  });

  it('closes while a long poll is open and while a caller is in the middle of sending', async () => {
    const arrived = Promise.withResolvers<void>();
    const busy = await startAwsEndpoint({
      ...settings,
      callers: () => {
        arrived.resolve();
        return callers;
      },
    });
    const sqs = track(new SQSClient({ ...functionWith(allow('*', '*')), endpoint: busy.url }));
    const polling = sqs.send(new ReceiveMessageCommand({ QueueUrl: queueUrl('other'), WaitTimeSeconds: 20 }));
    const outcome = expect(polling).rejects.toThrow();
    const halfSent = connect(busy.port, '127.0.0.1');
    halfSent.on('error', () => {});
    await once(halfSent, 'connect');
    halfSent.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n');
    await arrived.promise;
    await busy.close();
    await outcome;
    if (!halfSent.closed) await once(halfSent, 'close');
  });

  it('serves an SDK that knows its address from the environment only, as functions do', async () => {
    vi.stubEnv('AWS_ENDPOINT_URL', endpoint.url);
    const { endpoint: _, ...withoutEndpoint } = functionWith(allow('*', '*'));
    const sqs = track(new SQSClient(withoutEndpoint));
    const { QueueUrl } = await sqs.send(new GetQueueUrlCommand({ QueueName: 'jobs' }));
    await sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: 'ding' }));
    expect(fauxqs.inspectQueue('jobs')?.messages.ready.map(({ body }) => body)).toEqual(['ding']);
    functionWith();
    await expect(sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: 'x' }))).rejects.toMatchObject({ name: 'AccessDeniedException' });
  });
});
