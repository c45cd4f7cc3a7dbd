import type { IncomingMessage } from 'node:http';

/** API Gateway's limit for a request. */
const MAXIMUM_BODY_BYTES = 10 * 1024 * 1024;

/** The whole body; undefined when it is too large. The rest of such a body is read and dropped: hanging up on a client that still sends would hide the answer. */
export async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= MAXIMUM_BODY_BYTES) chunks.push(chunk);
    else chunks.length = 0;
  }
  return bytes <= MAXIMUM_BODY_BYTES ? Buffer.concat(chunks) : undefined;
}
