import { STATUS_CODES } from 'node:http';
import type { MiddlewareObj } from '@middy/core';
import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import { isConnectionLost } from '../../shared/db/postgres-errors.ts';
import { DatabaseError, InvalidInputError, WaybillError } from '../../shared/errors.ts';
import type { Logger } from '../../shared/observability/log.ts';

type Headers = Record<string, string>;

/** An answer other than success that the client is meant to read. */
export class ProblemError extends WaybillError {
  readonly status: number;
  readonly headers: Headers;

  constructor(status: number, code: string, message: string, headers: Headers = {}) {
    super(code, message);
    this.status = status;
    this.headers = headers;
  }
}

interface Problem {
  status: number;
  code: string;
  detail: string;
  headers?: Headers;
}

/**
 * Turns whatever was thrown into problem details (RFC 9457). It comes first in the chain, so that it also sees what the other
 * middlewares throw. Only errors made for clients speak to them; of all others they learn the request id, and the log the rest.
 */
export function withProblemDetails(log: Logger): MiddlewareObj<APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2> {
  return {
    onError: (request) => {
      const requestId = request.event.requestContext?.requestId ?? request.context.awsRequestId;
      const problem = toProblem(request.error);
      const fields = { requestId, path: request.event.rawPath, error: request.error };
      if (problem.status >= 500) log[problem.status === 500 ? 'error' : 'warn'](`answered ${problem.code}`, fields);
      request.response = toResponse(problem, requestId);
    },
  };
}

function toProblem(error: unknown): Problem {
  if (error instanceof ProblemError) return { status: error.status, code: error.code, detail: error.message, headers: error.headers };
  if (error instanceof InvalidInputError) return { status: 400, code: error.code, detail: error.message };
  if (error instanceof DatabaseError || isConnectionLost(error)) {
    return unavailable('database_unavailable', 'the database cannot be reached at the moment: try again in a few seconds');
  }
  // middy raises this shortly before the function's own deadline, at which the client would get an answer without a reason.
  if (error instanceof Error && error.name === 'TimeoutError') {
    return unavailable('timed_out', 'the answer took too long: try again in a few seconds, or ask for less');
  }
  return { status: 500, code: 'internal_error', detail: 'something unexpected went wrong: the log names it under this request id' };
}

function unavailable(code: string, detail: string): Problem {
  return { status: 503, code, detail, headers: { 'retry-after': '5' } };
}

function toResponse({ status, code, detail, headers }: Problem, requestId: string): APIGatewayProxyStructuredResultV2 {
  return {
    statusCode: status,
    headers: {
      'content-type': 'application/problem+json',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      ...headers,
    },
    body: JSON.stringify({ type: 'about:blank', title: STATUS_CODES[status] ?? 'Error', status, detail, code, requestId }),
  };
}
