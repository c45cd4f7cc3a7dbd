import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import type { Database } from '../../shared/db/database.ts';
import { ProblemError } from '../middleware/problem-details.ts';
import { type Answer, matchPath, type Request, type Route } from './route.ts';
import { routeTable } from './route-table.ts';

/** Finds the route and lets it answer; what it throws, {@link ProblemError} included, becomes problem details further out. */
export async function answerRequest(event: APIGatewayProxyEventV2, database: Database): Promise<Answer> {
  const { route, path } = findRoute(event.requestContext.http.method, event.rawPath);
  const request: Request = { path, query: new URLSearchParams(event.rawQueryString), headers: event.headers };
  return route.handle(request, database);
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
