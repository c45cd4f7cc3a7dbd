import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Caller, Refusal, ServiceHandler } from './aws-call.ts';
import { type AwsAnswer, AwsError, answerError } from './aws-error.ts';
import { createForwarder } from './forward-request.ts';
import { type LambdaSettings, lambdaHandler } from './lambda-handler.ts';
import type { SecretStore } from './local-secret-store.ts';
import { describeCall, identifyCaller, MAXIMUM_BODY_BYTES, readBody } from './read-call.ts';
import { readCredential } from './read-credential.ts';
import { secretsHandler } from './secrets-handler.ts';
import { sqsHandler } from './sqs-handler.ts';

export interface AwsEndpointSettings {
  /** Any free one, unless given. */
  port?: number;
  region: string;
  account: string;
  /** By access key id; asked anew for every request, so that a redeployed function is judged by its new role. */
  callers: () => ReadonlyMap<string, Caller>;
  /** The address of the SQS emulator. */
  sqsUrl: string;
  secrets: SecretStore;
  /** The functions that can be invoked; without, Lambda is a service that is not emulated. */
  lambda?: LambdaSettings;
  onRefused(refusal: Refusal): void;
}

export interface AwsEndpoint {
  url: string;
  port: number;
  /** Ends all connections at once: a call in flight fails at its caller as it would if the network broke. */
  close(): Promise<void>;
}

/** The one address that functions know as AWS. It finds out who calls which service, and lets the emulators answer what the caller's role allows. */
export async function startAwsEndpoint(settings: AwsEndpointSettings): Promise<AwsEndpoint> {
  const { region, account, secrets, lambda } = settings;
  const emulator = createForwarder(settings.sqsUrl);
  let url = '';

  /** The emulated services, by the name that signatures use. Another service is one more line. */
  const handlers = new Map<string, ServiceHandler>([
    ['sqs', sqsHandler({ region, account, emulator, endpointUrl: () => url })],
    ['secretsmanager', secretsHandler(secrets)],
  ]);
  if (lambda) handlers.set('lambda', lambdaHandler({ region, account, ...lambda }));

  const server = createServer((request, response) => {
    answer(request, response, settings, handlers).then(
      ({ statusCode, headers, body }) => {
        if (!response.destroyed) response.writeHead(statusCode, { ...headers, 'content-length': Buffer.byteLength(body) }).end(body);
      },
      // Only a caller that hung up while sending gets here; there is nobody to answer.
      () => response.destroy(),
    );
  });
  // Functions are frozen between invocations and cannot notice that an idle connection was closed: the next call on it would fail.
  server.keepAliveTimeout = 0;
  await listen(server, settings.port ?? 0);
  const { port } = server.address() as AddressInfo;
  url = `http://127.0.0.1:${port}`;

  return {
    url,
    port,
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      emulator.close();
      await closed;
    },
  };
}

/** Loopback only: whoever reaches this port acts with the permissions of the functions. */
async function listen(server: Server, port: number): Promise<void> {
  server.listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch (cause) {
    const isTaken = (cause as NodeJS.ErrnoException).code === 'EADDRINUSE';
    throw isTaken ? new Error(`port ${port} is in use: stop what uses it or let the AWS endpoint choose a free one`, { cause }) : cause;
  }
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  settings: AwsEndpointSettings,
  handlers: ReadonlyMap<string, ServiceHandler>,
): Promise<AwsAnswer> {
  // The body is taken in before anything is refused: a caller still sending would see a broken connection instead of the reason.
  const body = await readBody(request);
  const credential = readCredential(request.headers.authorization);
  const service = credential?.service ?? '';
  try {
    const caller = identifyCaller(credential, settings.callers());
    const call = describeCall(request, response, body ?? Buffer.alloc(0), caller, service, settings.onRefused);
    const handler = handlers.get(service);
    if (handler === undefined) throw call.notEmulated('ServiceNotEmulated');
    if (body === undefined) throw new AwsError(413, 'RequestEntityTooLarge', `the body is larger than ${MAXIMUM_BODY_BYTES} bytes`);
    return await handler(call);
  } catch (error) {
    const known = error instanceof AwsError ? error : new AwsError(500, 'InternalFailure', `the local cloud failed: ${String(error)}`);
    return answerError(known, service, request.headers);
  }
}
