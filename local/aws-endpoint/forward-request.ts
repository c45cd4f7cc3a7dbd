import { Agent, request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { type AwsAnswer, AwsError } from './aws-error.ts';

/** Headers that describe one connection, or that are computed again for the copy. */
const CONNECTION_HEADERS = new Set(['connection', 'keep-alive', 'transfer-encoding', 'content-length', 'date']);

export interface Forwarder {
  /** Sends a request on and answers with what came back, whatever its status. */
  forward(headers: Record<string, string>, body: string | Buffer): Promise<AwsAnswer>;
  close(): void;
}

/**
 * Passes requests to an emulator over connections that stay open. The answer is buffered, so that an emulator that dies in the middle of it leaves
 * the caller with a clean error to retry instead of half an answer. Whether it acted before it died is unknown, as with AWS: a message may then be
 * sent twice.
 */
export function createForwarder(targetUrl: string): Forwarder {
  const agent = new Agent({ keepAlive: true });
  return {
    forward: async (headers, body) => {
      const { promise, resolve, reject } = Promise.withResolvers<AwsAnswer>();
      const outgoing = httpRequest(targetUrl, {
        agent,
        method: 'POST',
        headers: { ...headers, 'content-length': Buffer.byteLength(body) },
      });
      outgoing.on('error', reject);
      outgoing.on('response', (response) => {
        buffer(response).then((content) => {
          resolve({ statusCode: response.statusCode ?? 502, headers: endToEnd(response.headers), body: content });
        }, reject);
      });
      outgoing.end(body);
      return promise.catch((cause: Error) => {
        throw new AwsError(503, 'ServiceUnavailable', `the emulator at ${targetUrl} did not answer: ${cause.message}`);
      });
    },
    close: () => agent.destroy(),
  };
}

function endToEnd(headers: IncomingHttpHeaders): Record<string, string | string[]> {
  const kept = Object.entries(headers).filter(([name, value]) => value !== undefined && !CONNECTION_HEADERS.has(name));
  return Object.fromEntries(kept) as Record<string, string | string[]>;
}
