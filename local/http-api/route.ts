import { InvalidInputError } from '../../shared/errors.ts';
import type { Invoke } from '../lambda/invocation.ts';

export interface Route {
  /** `GET /v1/manifests/{externalId}`, `ANY /{proxy+}` or `$default`. */
  routeKey: string;
  invoke: Invoke;
  payloadFormatVersion: '2.0';
  /** At most 30 s, as in AWS. */
  timeoutMs: number;
  authorizationType: 'NONE' | 'AWS_IAM';
}

export interface RouteMatch {
  route: Route;
  pathParameters: Record<string, string>;
}

export type SelectRoute = (method: string, path: string) => RouteMatch | undefined;

type Segment = { kind: 'static'; text: string } | { kind: 'variable' | 'greedy'; name: string };

interface CompiledRoute {
  route: Route;
  method: string;
  /** Undefined for `$default`, which matches everything. */
  segments: Segment[] | undefined;
}

/**
 * API Gateway's choice among routes: a full match before a greedy one before `$default`; segment by segment a literal before a variable; then the named method
 * before ANY. Sorting once by that order makes the first match the right one.
 */
export function compileRoutes(routes: Route[]): SelectRoute {
  const compiled = routes.map(compileRoute).sort(compareRoutes);
  return (method, path) => {
    const pathSegments = splitPath(path);
    for (const { route, method: routeMethod, segments } of compiled) {
      if (routeMethod !== 'ANY' && routeMethod !== method) continue;
      const pathParameters = segments === undefined ? {} : matchSegments(segments, pathSegments);
      if (pathParameters !== undefined) return { route, pathParameters };
    }
    return undefined;
  };
}

function compileRoute(route: Route): CompiledRoute {
  if (route.routeKey === '$default') return { route, method: 'ANY', segments: undefined };
  const [, method, path] = /^([A-Z]+) (\/\S*)$/.exec(route.routeKey) ?? [];
  const segments = path === undefined ? [] : splitPath(path).map(parseSegment);
  if (method === undefined || segments.slice(0, -1).some(({ kind }) => kind === 'greedy')) {
    throw new InvalidInputError(
      'invalid_route',
      `route key '${route.routeKey}' is invalid: it must be 'METHOD /path' with {variables} and at most a last {greedy+}, or $default`,
    );
  }
  return { route, method, segments };
}

function parseSegment(text: string): Segment {
  const [, name, plus] = /^\{(\w+)(\+?)\}$/.exec(text) ?? [];
  if (name === undefined) return { kind: 'static', text };
  return { kind: plus === '+' ? 'greedy' : 'variable', name };
}

function splitPath(path: string): string[] {
  return path.slice(1).split('/');
}

/** A greedy variable takes one segment or more, none of the other variables takes an empty one; undefined when the path does not match. */
function matchSegments(segments: Segment[], path: string[]): Record<string, string> | undefined {
  const parameters: Record<string, string> = {};
  for (const [index, segment] of segments.entries()) {
    const text = path[index];
    if (text === undefined) return undefined;
    if (segment.kind === 'greedy') {
      const rest = path.slice(index).join('/');
      return rest === '' ? undefined : { ...parameters, [segment.name]: rest };
    }
    if (segment.kind === 'static' ? segment.text !== text : text === '') return undefined;
    if (segment.kind === 'variable') parameters[segment.name] = text;
  }
  return segments.length === path.length ? parameters : undefined;
}

const KIND_ORDER = { static: 0, variable: 1, greedy: 2 };

function compareRoutes(a: CompiledRoute, b: CompiledRoute): number {
  const byReach = reach(a) - reach(b);
  if (byReach !== 0) return byReach;
  const [aSegments, bSegments] = [a.segments ?? [], b.segments ?? []];
  for (let index = 0; index < Math.min(aSegments.length, bSegments.length); index++) {
    const byKind = KIND_ORDER[aSegments[index]!.kind] - KIND_ORDER[bSegments[index]!.kind];
    if (byKind !== 0) return byKind;
  }
  return bSegments.length - aSegments.length || Number(a.method === 'ANY') - Number(b.method === 'ANY');
}

function reach({ segments }: CompiledRoute): number {
  if (segments === undefined) return 2;
  return segments.at(-1)?.kind === 'greedy' ? 1 : 0;
}
