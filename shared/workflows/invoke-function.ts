import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { messageOf, NonRetryableError, WaybillError } from '../errors.ts';

export interface FunctionCall {
  /** A name or an ARN. */
  functionName: string;
  qualifier?: string;
  payload: Uint8Array;
  /** Whether the caller waits for nothing but that the event was taken. */
  isEvent: boolean;
  /** What a function that is waited for finds as `context.clientContext.custom`. */
  clientContext: Record<string, string>;
  signal: AbortSignal;
}

export interface FunctionAnswer {
  status: number;
  /** JSON text; undefined if there is none. */
  payload: string | undefined;
  /** Set if the function itself failed; then the payload tells of the error. */
  functionError: string | undefined;
}

/** The request is wrong, the function does not exist, or the role may not invoke it: another attempt meets the same. */
const FINAL_STATUSES = new Set([400, 403, 404, 413, 415]);

/**
 * Invokes a function of the account, once: what the SDK would repeat in silence is a failure that the run's own attempts repeat, where people see it. A function may take as long as
 * the signal allows.
 */
export async function invokeFunction({
  functionName,
  qualifier,
  isEvent,
  clientContext,
  payload,
  signal,
}: FunctionCall): Promise<FunctionAnswer> {
  const client = new LambdaClient({ maxAttempts: 1, requestHandler: { connectionTimeout: 5_000, requestTimeout: 0 } });
  try {
    const { StatusCode, FunctionError, Payload } = await client.send(
      new InvokeCommand({
        FunctionName: functionName,
        Qualifier: qualifier,
        InvocationType: isEvent ? 'Event' : 'RequestResponse',
        ClientContext: Buffer.from(JSON.stringify({ custom: clientContext })).toString('base64'),
        Payload: payload,
      }),
      { abortSignal: signal },
    );
    return { status: StatusCode ?? 200, payload: Payload?.length ? Payload.transformToString() : undefined, functionError: FunctionError };
  } catch (error) {
    signal.throwIfAborted();
    throw describe(functionName, error);
  } finally {
    client.destroy();
  }
}

function describe(functionName: string, error: unknown): WaybillError {
  const status = (error as { $metadata?: { httpStatusCode?: number } }).$metadata?.httpStatusCode;
  const name = error instanceof Error ? `${error.name}: ` : '';
  const message = `function '${functionName}' could not be invoked: ${name}${messageOf(error)}`;
  if (status === undefined || !FINAL_STATUSES.has(status)) return new WaybillError('function_not_invoked', message, { retryable: true });
  return new NonRetryableError(status === 403 ? `${message}; grant it with fn.grantInvoke(jobs.pool('…'))` : message);
}
