import type { FunctionError, InvocationResult } from './invocation.ts';

/** What Lambda takes in and gives out in one synchronous invocation. */
export const payloadLimitBytes = 6 * 1024 * 1024;

export function failed(errorType: string, errorMessage: string): InvocationResult {
  return { status: 'failed', error: { errorType, errorMessage } };
}

export function requestTooLarge(sizeBytes: number): InvocationResult {
  const message = `the event has ${sizeBytes} bytes, ${payloadLimitBytes} are allowed: pass a reference to stored data instead`;
  return failed('RequestEntityTooLarge', message);
}

export function responseTooLarge(sizeBytes: number): InvocationResult {
  const message = `the response has ${sizeBytes} bytes, ${payloadLimitBytes} are allowed: return a reference to stored data instead`;
  return failed('Function.ResponseSizeTooLarge', message);
}

export function timedOut(requestId: string, timeoutSeconds: number): InvocationResult {
  return failed('Sandbox.Timedout', `${requestId} Task timed out after ${timeoutSeconds.toFixed(2)} seconds`);
}

/** The process ended while it held an invocation that it had not answered. */
export function exitedInInvocation(requestId: string, reason: string): InvocationResult {
  return failed('Runtime.ExitError', `RequestId: ${requestId} Error: Runtime exited with error: ${reason}`);
}

/** The process ended before it asked for its first event; what it wrote to stderr is all there is to explain it. */
export function exitedInInit(handler: string, reason: string, stderr: string): InvocationResult {
  return failed('Runtime.ExitError', `the process exited with ${reason} while loading '${handler}'${quoteOutput(stderr)}`);
}

export function initTimedOut(handler: string, timeoutSeconds: number, stderr: string): InvocationResult {
  const message = `loading '${handler}' took more than ${timeoutSeconds} seconds: move slow work from the module into the handler`;
  return failed('Runtime.InitTimeout', message + quoteOutput(stderr));
}

/** The error that a process reported; one it made up itself in another shape is kept as text. */
export function reportedError(text: string): InvocationResult {
  const report = parseJson(text) as Partial<FunctionError> | undefined;
  if (typeof report?.errorType !== 'string' || typeof report.errorMessage !== 'string') return failed('Runtime.Unknown', text);
  const { errorType, errorMessage, stackTrace } = report;
  return { status: 'failed', error: { errorType, errorMessage, stackTrace: Array.isArray(stackTrace) ? stackTrace.map(String) : [] } };
}

export function returnedPayload(text: string): InvocationResult {
  const payload = parseJson(text);
  return payload === undefined ? failed('Runtime.InvalidResponse', 'the response is not JSON') : { status: 'succeeded', payload };
}

function quoteOutput(stderr: string): string {
  return stderr === '' ? ', without a word on stderr' : `; stderr:\n${stderr}`;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
