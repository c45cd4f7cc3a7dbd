import { randomUUID } from 'node:crypto';
import type { AsyncInvocations } from '../lambda/async-invocations.ts';
import { payloadLimitBytes } from '../lambda/describe-failure.ts';
import type { InvocationResult, Invoke } from '../lambda/invocation.ts';
import type { AwsCall, ServiceHandler } from './aws-call.ts';
import { type AwsAnswer, AwsError } from './aws-error.ts';

/** What Lambda takes for an invocation that nobody waits for. */
const ASYNC_LIMIT_BYTES = 1024 * 1024;

const PATH = /^\/2015-03-31\/functions\/([^/?]+)\/invocations(?:\?(.*))?$/;
/** A name, a partial or a full ARN, each with or without a version behind it. */
const FUNCTION = /^(?:arn:aws:lambda:[a-z0-9-]+:(\d{12}):function:|(\d{12}):function:)?([A-Za-z0-9_-]{1,64})(?::([A-Za-z0-9$_-]{1,128}))?$/;

export interface InvocableFunction {
  /** The name that people know it by. */
  displayName: string;
  lambda: { invoke: Invoke };
}

export interface LambdaSettings {
  /** By ARN without a version; asked anew for every call, so that what was deployed since is known. */
  functions: () => ReadonlyMap<string, InvocableFunction>;
  asyncInvocations: Pick<AsyncInvocations, 'accept'>;
}

/**
 * Lambda, as far as functions call each other: `Invoke`, with or without waiting for the answer. There is one version of each function, the latest; whoever names
 * another one by its number gets that.
 */
export function lambdaHandler({
  functions,
  asyncInvocations,
  region,
  account,
}: LambdaSettings & { region: string; account: string }): ServiceHandler {
  return async (call) => {
    const { name, accountId, qualifier } = readFunction(call, account);
    const arn = `arn:aws:lambda:${region}:${accountId}:function:${name}`;
    call.authorize('lambda:InvokeFunction', qualifier === undefined ? arn : `${arn}:${qualifier}`);
    const target = isLatest(qualifier) ? functions().get(arn) : undefined;
    if (target === undefined)
      throw new AwsError(404, 'ResourceNotFoundException', `Function not found: ${arn}${qualifier ? `:${qualifier}` : ''}`);
    const type = call.headers['x-amz-invocation-type'] ?? 'RequestResponse';
    const event = readEvent(call, type === 'Event' ? ASYNC_LIMIT_BYTES : payloadLimitBytes);
    if (type === 'DryRun') return answer(204);
    if (type === 'RequestResponse') return answerResult(await target.lambda.invoke(event));
    if (type !== 'Event')
      throw new AwsError(400, 'InvalidParameterValueException', `InvocationType is '${type}': it must be RequestResponse, Event or DryRun`);
    asyncInvocations.accept(target.displayName, (given) => target.lambda.invoke(given), event);
    return answer(202);
  };
}

function readFunction(call: AwsCall, account: string): { name: string; accountId: string; qualifier: string | undefined } {
  const [, encoded, query] = (call.method === 'POST' && PATH.exec(call.path)) || [];
  if (encoded === undefined) throw call.notEmulated('NotImplemented');
  const [, arnAccount, partialAccount, name, qualifier] = FUNCTION.exec(decode(encoded)) ?? [];
  if (name === undefined)
    throw new AwsError(400, 'ValidationException', `FunctionName is '${encoded.slice(0, 200)}': it must be a function's name or ARN`);
  return {
    name,
    accountId: arnAccount ?? partialAccount ?? account,
    qualifier: qualifier ?? new URLSearchParams(query).get('Qualifier') ?? undefined,
  };
}

function isLatest(qualifier: string | undefined): boolean {
  return qualifier === undefined || qualifier === '$LATEST' || /^[0-9]+$/.test(qualifier);
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function readEvent({ body }: AwsCall, limitBytes: number): unknown {
  if (body.length > limitBytes)
    throw new AwsError(
      413,
      'RequestTooLargeException',
      `${body.length} byte payload is too large for the invocation (limit ${limitBytes} bytes)`,
    );
  try {
    return body.length === 0 ? {} : (JSON.parse(body.toString('utf8')) as unknown);
  } catch {
    throw new AwsError(400, 'InvalidRequestContentException', 'Could not parse request body into json');
  }
}

/** A function that failed is an answer with status 200: the call itself went well. */
function answerResult(result: InvocationResult): AwsAnswer {
  if (result.status === 'throttled') throw new AwsError(429, 'TooManyRequestsException', 'Rate Exceeded.');
  if (result.status === 'succeeded') return answer(200, JSON.stringify(result.payload));
  const { errorType, errorMessage, stackTrace = [] } = result.error;
  const failed = answer(200, JSON.stringify({ errorType, errorMessage, trace: stackTrace }));
  return { ...failed, headers: { ...failed.headers, 'x-amz-function-error': 'Unhandled' } };
}

function answer(statusCode: number, body = ''): AwsAnswer {
  const headers = { 'content-type': 'application/json', 'x-amzn-requestid': randomUUID(), 'x-amz-executed-version': '$LATEST' };
  return { statusCode, headers, body };
}
