import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { payloadLimitBytes } from './describe-failure.ts';

/** An event as it is handed to a process. */
export interface HandOver {
  requestId: string;
  functionArn: string;
  deadlineAt: Date;
  traceId: string;
  event: string;
}

/** What a process posted; the text stays away when it was larger than Lambda takes. */
export interface PostedBody {
  sizeBytes: number;
  text: string | undefined;
}

/** The supervisor's side of one function process: called when that process calls the Runtime API. */
export interface RuntimeClient {
  /** The process has nothing to do; `answer` gives it its next event, now or much later. */
  onNext(answer: (handOver: HandOver) => void): void;
  onResponse(requestId: string, body: PostedBody): void;
  onError(requestId: string, body: PostedBody): void;
  onInitError(body: PostedBody): void;
}

export interface RuntimeApi {
  /** Gives a client its own address, `host:port/token`: the token tells who is calling and nobody else can guess it. */
  register(client: RuntimeClient): string;
  unregister(address: string): void;
  close(): Promise<void>;
}

const route =
  /^\/(?<token>\w+)\/2018-06-01\/runtime\/(?:(?<next>invocation\/next)|invocation\/(?<requestId>[\w-]+)\/(?<kind>response|error)|(?<init>init\/error))$/;

/** Serves the Lambda Runtime API to all function processes. No time limits here: a process waits for its next event as long as it takes. */
export async function startRuntimeApi(): Promise<RuntimeApi> {
  const clients = new Map<string, RuntimeClient>();

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { token = '', next, requestId, kind, init } = route.exec(request.url ?? '')?.groups ?? {};
    const client = clients.get(token);
    if (!client || request.method !== (next ? 'GET' : 'POST')) {
      response.writeHead(404).end();
      return;
    }
    if (next) {
      client.onNext((handOver) => response.writeHead(200, describeHandOver(handOver)).end(handOver.event));
      return;
    }
    const body = await readBody(request);
    if (init) client.onInitError(body);
    else if (kind === 'response') client.onResponse(requestId!, body);
    else client.onError(requestId!, body);
    response.writeHead(202).end();
  }

  const server = createServer({ keepAliveTimeout: 0, requestTimeout: 0, headersTimeout: 0 }, (request, response) => {
    // A body that breaks off is a process that died: its exit is what counts.
    serve(request, response).catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;

  return {
    register(client) {
      const token = randomBytes(16).toString('hex');
      clients.set(token, client);
      return `127.0.0.1:${port}/${token}`;
    },
    unregister(address) {
      clients.delete(address.slice(address.indexOf('/') + 1));
    },
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

function describeHandOver({ requestId, functionArn, deadlineAt, traceId, event }: HandOver): Record<string, string> {
  return {
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(event)),
    'lambda-runtime-aws-request-id': requestId,
    'lambda-runtime-deadline-ms': String(deadlineAt.getTime()),
    'lambda-runtime-invoked-function-arn': functionArn,
    'lambda-runtime-trace-id': traceId,
  };
}

/** Reads to the end even when it is too much, so that the process is not cut off and can serve its next event. */
async function readBody(request: IncomingMessage): Promise<PostedBody> {
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    sizeBytes += chunk.length;
    if (sizeBytes <= payloadLimitBytes) chunks.push(chunk);
  }
  return { sizeBytes, text: sizeBytes <= payloadLimitBytes ? Buffer.concat(chunks).toString() : undefined };
}
