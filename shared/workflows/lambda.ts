import type { StandardSchemaV1 } from '@standard-schema/spec';
import { NonRetryableError, WaybillError } from '../errors.ts';
import { toStorableJson } from '../model/json.ts';
import type { Workflow } from '../model/workflow.ts';
import { describedInput, type InputSchema } from './described-input.ts';

export interface LambdaInput {
  /** The name or ARN of a function that the pool may invoke: `fn.grantInvoke(jobs.pool('default'))`. */
  functionName: string;
  /** A version or an alias. */
  qualifier?: string;
  /** The function's event, any JSON; an empty object if not said. */
  payload?: unknown;
  /** `Event` waits for nothing but that Lambda has taken it: whether the function succeeds, this run does not know. */
  invocationType?: 'RequestResponse' | 'Event';
}

export interface LambdaOutput {
  status: number;
  /** What the function returned; null for an event, and for what is too large to be kept. */
  payload: unknown;
  isTruncated: boolean;
}

const lambdaSchema: InputSchema = {
  type: 'object',
  required: ['functionName'],
  additionalProperties: false,
  properties: {
    functionName: {
      type: 'string',
      maxLength: 200,
      pattern: '^[A-Za-z0-9:_$-]+$',
      description: 'the name or ARN of a function, in at most 200 characters',
    },
    qualifier: { type: 'string', pattern: '^[A-Za-z0-9$_-]{1,128}$', description: 'a version or an alias' },
    payload: { description: 'The event of the function', default: {} },
    invocationType: { type: 'string', enum: ['RequestResponse', 'Event'], default: 'RequestResponse' },
  },
};

/** What Lambda takes. */
const MAX_BYTES = { RequestResponse: 6 * 1024 * 1024, Event: 1024 * 1024 };
/** Leaves room for the rest of the output. */
const MAX_OUTPUT_BYTES = 250 * 1024;
const MESSAGE_LENGTH = 2_000;

const input = describedInput<LambdaInput>(lambdaSchema, ({ payload = {}, invocationType = 'RequestResponse' }) => {
  const bytes = Buffer.byteLength(JSON.stringify(payload));
  const most = MAX_BYTES[invocationType];
  return bytes <= most
    ? []
    : [{ path: ['payload'], message: `has ${bytes} bytes of JSON: an invocation of type ${invocationType} takes ${most}` }];
});

/**
 * Invokes a Lambda function of the account. What it returns is the output. A function that failed, is throttled or could not be reached fails the attempt; one that throws an error called
 * `NonRetryableError`, does not exist or may not be invoked dead-letters the run at once. The function finds `idempotencyKey` in `context.clientContext.custom`, unless it
 * is invoked as an event.
 *
 * The answer is recorded as a step, so a run that dies after it does not invoke the function again; one that dies before does.
 */
export const lambda: Workflow<StandardSchemaV1<LambdaInput>, LambdaOutput> = {
  name: 'waybill/lambda',
  pool: 'default',
  input,
  inputJsonSchema: { ...lambdaSchema },
  run: (ctx, call) => ctx.step('invoke', ({ signal }) => invoke(call, ctx.idempotencyKey, signal)),
};

async function invoke(
  { functionName, qualifier, payload = {}, invocationType }: LambdaInput,
  idempotencyKey: string,
  signal: AbortSignal,
): Promise<LambdaOutput> {
  const { invokeFunction } = await import('./invoke-function.ts');
  const answer = await invokeFunction({
    functionName,
    qualifier,
    payload: Buffer.from(JSON.stringify(payload)),
    isEvent: invocationType === 'Event',
    clientContext: { idempotencyKey },
    signal,
  });
  const { status, payload: text = 'null', functionError } = answer;
  if (functionError !== undefined) throw describeFailure(functionName, functionError, text);
  const returned: unknown = JSON.parse(text);
  const isTruncated = 'problem' in toStorableJson(returned, MAX_OUTPUT_BYTES);
  return { status, payload: isTruncated ? null : returned, isTruncated };
}

interface ErrorPayload {
  errorType?: unknown;
  errorMessage?: unknown;
}

/** In the function's own words; Lambda writes the error of a function that timed out or ran out of memory in the same way. */
function describeFailure(functionName: string, functionError: string, text: string): WaybillError {
  const { errorType = functionError, errorMessage = text } = readError(text);
  const message = `function '${functionName}' failed: ${errorType}: ${String(errorMessage).slice(0, MESSAGE_LENGTH)}`;
  return errorType === 'NonRetryableError'
    ? new NonRetryableError(message)
    : new WaybillError('function_failed', message, { retryable: true });
}

function readError(text: string): ErrorPayload {
  try {
    return (JSON.parse(text) as ErrorPayload | null) ?? {};
  } catch {
    return {};
  }
}
