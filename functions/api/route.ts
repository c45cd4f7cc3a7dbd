import type { APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import type { OperationContext } from '../../shared/operations/context.ts';

/** What a route sees of an HTTP request. */
export interface Request {
  /** The values of the path's `{names}`. */
  path: Record<string, string>;
  query: URLSearchParams;
  /** By lower-case name. */
  headers: Record<string, string | undefined>;
  /** As it came; undefined when there is none. */
  body: Uint8Array | undefined;
}

export type Answer = APIGatewayProxyStructuredResultV2;

export interface Route {
  /** What changes something is never a GET: browsers, caches and crawlers repeat those at will. */
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Segments are literal or `{named}`; a name takes exactly one segment, and `{name+}` at the end all that are left. */
  path: string;
  handle(request: Request, context: OperationContext): Promise<Answer> | Answer;
}

/** The values of the names in `pattern`, or undefined when `path`, which API Gateway has already decoded, does not match. */
export function matchPath(pattern: string, path: string): Record<string, string> | undefined {
  const wanted = pattern.split('/');
  const given = path.split('/');
  const rest = wanted.findIndex((segment) => /^\{\w+\+\}$/.test(segment));
  const restLength = given.length - wanted.length + 1;
  if (rest >= 0 && restLength > 0) given.splice(rest, restLength, given.slice(rest, rest + restLength).join('/'));
  if (wanted.length !== given.length) return undefined;
  const values: Record<string, string> = {};
  for (const [index, segment] of wanted.entries()) {
    const value = given[index] ?? '';
    const name = /^\{(\w+)\+?\}$/.exec(segment)?.[1];
    if (name === undefined ? segment !== value : value === '') return undefined;
    if (name !== undefined) values[name] = value;
  }
  return values;
}
