import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, vi } from 'vitest';

/** As much of AWS as a function asks for: the secret with the database's address, and queues that take every message. */
export interface Aws {
  /** What is answered to whoever asks for the secret; a test sets it before anybody does. */
  secret: { status: number; body: unknown };
  readonly sent: { QueueUrl: string; MessageBody: string }[];
}

/** AWS for the SDK of this process, while the tests of the calling file run. */
export function useAws(): Aws {
  const aws: Aws = { secret: { status: 500, body: {} }, sent: [] };
  const server = createServer(async (request, response) => {
    const body = await text(request);
    if (request.headers['x-amz-target'] !== 'AmazonSQS.SendMessage') {
      response.writeHead(aws.secret.status, { 'content-type': 'application/x-amz-json-1.1' }).end(JSON.stringify(aws.secret.body));
      return;
    }
    const message = JSON.parse(body);
    aws.sent.push(message);
    const MD5OfMessageBody = createHash('md5').update(message.MessageBody).digest('hex');
    response.writeHead(200, { 'content-type': 'application/x-amz-json-1.0' }).end(JSON.stringify({ MessageId: 'm', MD5OfMessageBody }));
  });
  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    vi.stubEnv('AWS_ENDPOINT_URL', `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    vi.stubEnv('AWS_REGION', 'eu-west-1');
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'test');
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'test');
    vi.stubEnv('WAYBILL_DATABASE_SECRET_ID', 'waybill/database-url');
  });
  afterAll(async () => {
    vi.unstubAllEnvs();
    await new Promise((resolve) => server.close(resolve));
  });
  return aws;
}
