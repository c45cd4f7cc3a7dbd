import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

export interface ReceivedRequest {
  method: string;
  path: string;
  headers: IncomingMessage['headers'];
  body: string;
}

export interface TestServer {
  url: string;
  port: number;
  received: ReceivedRequest[];
}

type Answer = (response: ServerResponse, request: ReceivedRequest, count: number) => void;

/** A real HTTP server on loopback that is gone after the test, and notes what it was asked. */
export async function startServer(answer: Answer): Promise<TestServer> {
  const received: ReceivedRequest[] = [];
  const server = createServer(async (message, response) => {
    const chunks = await message.toArray();
    const { method = '', url = '', headers } = message;
    const request = { method, path: url, headers, body: Buffer.concat(chunks).toString() };
    received.push(request);
    answer(response, request, received.length);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, port, received };
}

export function answerJson(response: ServerResponse, value: unknown, status = 200, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value));
}
