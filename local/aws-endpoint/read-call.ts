import type { IncomingMessage, ServerResponse } from 'node:http';
import { type AwsCall, authorizer, type Caller, type Refusal } from './aws-call.ts';
import { AwsError } from './aws-error.ts';
import type { Credential } from './read-credential.ts';

/** SQS messages are at most 1 MiB, which escaping in JSON can multiply. */
export const MAXIMUM_BODY_BYTES = 8 * 1024 * 1024;

/** The whole body, or undefined if it is too large; then the rest was read and thrown away. */
export async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size <= MAXIMUM_BODY_BYTES) chunks.push(chunk);
  }
  return size <= MAXIMUM_BODY_BYTES ? Buffer.concat(chunks) : undefined;
}

/** The function that signed a request, or the refusal that AWS gives to strangers. */
export function identifyCaller(credential: Credential | undefined, callers: ReadonlyMap<string, Caller>): Caller {
  if (credential === undefined) {
    throw new AwsError(
      403,
      'MissingAuthenticationTokenException',
      'the request is not signed: use an AWS SDK inside a function of the stack',
    );
  }
  const caller = callers.get(credential.accessKeyId);
  if (caller !== undefined) return caller;
  throw new AwsError(
    403,
    credential.service === 'sqs' ? 'InvalidClientTokenId' : 'UnrecognizedClientException',
    `the access key '${credential.accessKeyId}' belongs to no function of this stack: leave the credentials that functions are started with`,
  );
}

/** All that a handler needs to know about a request. */
export function describeCall(
  request: IncomingMessage,
  response: ServerResponse,
  body: Buffer,
  caller: Caller,
  service: string,
  onRefused: (refusal: Refusal) => void,
): AwsCall {
  const hangUp = new AbortController();
  response.once('close', () => hangUp.abort());
  const { method = 'GET', url: path = '/', headers } = request;
  const action = readAction(request, body) ?? `${method} ${path.split('?')[0]}`;
  return {
    caller,
    service,
    action,
    method,
    path,
    headers,
    body,
    hungUp: hangUp.signal,
    authorize: authorizer(caller, onRefused),
    notEmulated: (type) => {
      onRefused({ functionName: caller.name, action: `${service}:${action}`, resource: '*', reason: 'not_emulated' });
      const what =
        type === 'NotImplemented' ? `the action '${action}' of service '${service}'` : `service '${service}' (action '${action}')`;
      return new AwsError(
        501,
        type,
        `function ${caller.name} called ${what}, which the local cloud does not emulate: ` +
          'start it with --aws-profile to forward such calls to AWS, or do not make them locally',
      );
    },
  };
}

/** The action by its name, in the protocols that have one: in a header (JSON) or as a form field (query). */
function readAction({ headers }: IncomingMessage, body: Buffer): string | undefined {
  const target = headers['x-amz-target'];
  if (typeof target === 'string') return target.slice(target.lastIndexOf('.') + 1);
  if (!headers['content-type']?.includes('x-www-form-urlencoded')) return undefined;
  return new URLSearchParams(body.toString('utf8')).get('Action') ?? undefined;
}
