import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import type { Database } from '../../shared/db/database.ts';
import { ConflictError, NotFoundError } from '../../shared/errors.ts';
import type { Doorbell } from '../../shared/queue/doorbell.ts';
import { ProblemError } from '../middleware/problem-details.ts';
import { readInitiator } from './read-initiator.ts';
import { type Answer, matchPath, type Request, type Route } from './route.ts';
import { routeTable } from './route-table.ts';

/** Finds the route and lets it answer; what it throws, {@link ProblemError} included, becomes problem details further out. */
export async function answerRequest(event: APIGatewayProxyEventV2, database: Database, doorbell: Doorbell): Promise<Answer> {
  const { route, path } = findRoute(event.requestContext.http.method, event.rawPath);
  const request: Request = { path, query: new URLSearchParams(event.rawQueryString), headers: event.headers, body: decodeBody(event) };
  try {
    return await route.handle(request, { database, doorbell, initiator: readInitiator(event) });
  } catch (error) {
    throw toProblemError(error);
  }
}

/** What an operation refuses, in the words of HTTP. An input that is refused is known further out. */
function toProblemError(error: unknown): unknown {
  if (error instanceof NotFoundError) return new ProblemError(404, error.code, error.message);
  if (error instanceof ConflictError) return new ProblemError(error.code === 'version_mismatch' ? 412 : 409, error.code, error.message);
  return error;
}

function decodeBody({ body, isBase64Encoded }: APIGatewayProxyEventV2): Uint8Array | undefined {
  return body ? Buffer.from(body, isBase64Encoded ? 'base64' : 'utf8') : undefined;
}

function findRoute(method: string, path: string): { route: Route; path: Record<string, string> } {
  const matches = routeTable.flatMap((route) => {
    const values = matchPath(route.path, path);
    return values ? [{ route, path: values }] : [];
  });
  if (!matches.length)
    throw new ProblemError(404, 'route_not_found', `nothing is served at '${path}': the API begins at /v1, the page is at /`);
  const match = matches.find(({ route }) => route.method === method);
  if (match) return match;
  const allow = [...new Set(matches.map(({ route }) => route.method))].join(', ');
  throw new ProblemError(405, 'method_not_allowed', `'${path}' does not answer to ${method}: allowed is ${allow}`, { allow });
}
