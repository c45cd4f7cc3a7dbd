import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { InvalidInputError, WaybillError } from '../../shared/errors.ts';
import { answerRequest } from './answer-request.ts';
import type { CorsConfiguration } from './cors.ts';
import { gatewayAnswer, type HttpAnswer } from './http-answer.ts';
import type { LocalIdentity } from './http-event.ts';
import { compileRoutes, type Route } from './route.ts';

const LOOPBACK_HOSTS = new Set(['127.0.0.1', '::1', 'localhost']);

export interface HttpApiOptions {
  port: number;
  /** A loopback address; nothing else is accepted, because the laptop asks for no credentials. */
  host?: string;
  apiId: string;
  stageName: string;
  routes: Route[];
  corsConfiguration?: CorsConfiguration;
  identity: LocalIdentity;
}

export interface HttpApi {
  /** Without the stage. */
  url: string;
  /** Replaces the routes; requests under way finish on the old ones. */
  update(routes: Route[]): void;
  /** Accepts nothing more and resolves when the requests under way are answered. */
  close(): Promise<void>;
}

/** An API Gateway HTTP API on the loopback interface. It keeps nothing: killed, it loses the answers under way and no more. */
export async function startHttpApi({ port, host = '127.0.0.1', routes, ...settings }: HttpApiOptions): Promise<HttpApi> {
  if (!LOOPBACK_HOSTS.has(host)) {
    throw new InvalidInputError(
      'invalid_host',
      `host '${host}' is refused: the local API asks for no credentials, so it listens on 127.0.0.1, ::1 or localhost only`,
    );
  }
  let selectRoute = compileRoutes(routes);
  const underWay = new Set<Promise<void>>();
  const server = createServer((request, response) => {
    const requestId = randomUUID();
    const answering = answerRequest(request, { ...settings, selectRoute, requestId })
      .then((answer) => writeAnswer(response, answer, requestId))
      .catch(() => writeAnswer(response, gatewayAnswer(500, 'Internal Server Error'), requestId))
      .finally(() => underWay.delete(answering));
    underWay.add(answering);
  });
  await listen(server, port, host);
  const { port: boundPort } = server.address() as AddressInfo;

  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${boundPort}`,
    update(newRoutes) {
      selectRoute = compileRoutes(newRoutes);
    },
    async close() {
      if (!server.listening) return;
      const closed = once(server, 'close');
      server.close();
      await Promise.all(underWay);
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Resolves when the answer has left, or the client has. A header that HTTP does not allow throws before anything is sent. */
async function writeAnswer(response: ServerResponse, { statusCode, headers, body }: HttpAnswer, requestId: string): Promise<void> {
  if (response.destroyed) return;
  response.writeHead(statusCode, { ...headers, 'apigw-requestid': requestId, 'content-length': body.length });
  response.end(body);
  await new Promise<void>((resolve) => response.once('close', resolve));
}

async function listen(server: Server, port: number, host: string): Promise<void> {
  try {
    server.listen(port, host);
    await once(server, 'listening');
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw cause;
    throw new WaybillError('EADDRINUSE', `port ${port} is in use: stop what uses it or choose another with --port`, { cause });
  }
}
