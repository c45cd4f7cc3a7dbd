import type { APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import type { Database } from '../../shared/db/database.ts';

/** What a route sees of an HTTP request. */
export interface Request {
  /** The values of the path's `{names}`. */
  path: Record<string, string>;
  query: URLSearchParams;
  /** By lower-case name. */
  headers: Record<string, string | undefined>;
}

export type Answer = APIGatewayProxyStructuredResultV2;

export interface Route {
  method: 'GET';
  /** Segments are literal or `{named}`; a name takes exactly one segment. */
  path: string;
  handle(request: Request, database: Database): Promise<Answer> | Answer;
}

/** The values of the names in `pattern`, or undefined when `path`, which API Gateway has already decoded, does not match. */
export function matchPath(pattern: string, path: string): Record<string, string> | undefined {
  const wanted = pattern.split('/');
  const given = path.split('/');
  if (wanted.length !== given.length) return undefined;
  const values: Record<string, string> = {};
  for (const [index, segment] of wanted.entries()) {
    const value = given[index] ?? '';
    const name = /^\{(\w+)\}$/.exec(segment)?.[1];
    if (name === undefined ? segment !== value : value === '') return undefined;
    if (name !== undefined) values[name] = value;
  }
  return values;
}
