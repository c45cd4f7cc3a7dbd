import { describe, expect, it } from 'vitest';
import { compileRoutes, type Route } from '../../../local/http-api/route.ts';

const route = (routeKey: string): Route => ({
  routeKey,
  invoke: async () => ({ status: 'throttled' }),
  payloadFormatVersion: '2.0',
  timeoutMs: 1_000,
  authorizationType: 'NONE',
});

const KEYS = [
  '$default',
  'ANY /{proxy+}',
  'GET /v1/{proxy+}',
  'ANY /v1/manifests/{externalId}',
  'GET /v1/manifests/{externalId}',
  'GET /v1/manifests/stats',
  'POST /v1/manifests/{externalId}/trigger',
  'GET /v1/{kind}/stats',
  'GET /{version}/health',
  'GET /',
];

/** Listed both ways round, because the order of definition must not matter. */
function select(method: string, path: string) {
  const [first, second] = [KEYS, KEYS.toReversed()].map((keys) => compileRoutes(keys.map(route))(method, path));
  expect(first?.route.routeKey).toBe(second?.route.routeKey);
  return [first?.route.routeKey, first?.pathParameters];
}

describe('the route of a request', () => {
  it.each([
    ['GET', '/v1/manifests/stats', 'GET /v1/manifests/stats', {}],
    ['GET', '/v1/manifests/etl', 'GET /v1/manifests/{externalId}', { externalId: 'etl' }],
    ['DELETE', '/v1/manifests/etl', 'ANY /v1/manifests/{externalId}', { externalId: 'etl' }],
    ['DELETE', '/v1/manifests/stats', 'ANY /v1/manifests/{externalId}', { externalId: 'stats' }],
    ['POST', '/v1/manifests/etl/trigger', 'POST /v1/manifests/{externalId}/trigger', { externalId: 'etl' }],
    ['GET', '/v1/groups/stats', 'GET /v1/{kind}/stats', { kind: 'groups' }],
    ['GET', '/v1/health', 'GET /{version}/health', { version: 'v1' }],
    ['GET', '/v1/groups/etl/graph', 'GET /v1/{proxy+}', { proxy: 'groups/etl/graph' }],
    ['POST', '/v1/groups', 'ANY /{proxy+}', { proxy: 'v1/groups' }],
    ['GET', '/v1', 'ANY /{proxy+}', { proxy: 'v1' }],
    ['GET', '/v1/manifests/', 'GET /v1/{proxy+}', { proxy: 'manifests/' }],
    ['GET', '/', 'GET /', {}],
    ['POST', '/', '$default', {}],
  ])('%s %s is %s', (method, path, routeKey, pathParameters) => {
    expect(select(method, path)).toEqual([routeKey, pathParameters]);
  });

  it('is none when nothing matches and there is no default', () => {
    const selectRoute = compileRoutes([route('GET /v1/health')]);
    expect(selectRoute('POST', '/v1/health')).toBeUndefined();
    expect(selectRoute('GET', '/v1/health/')).toBeUndefined();
    expect(selectRoute('GET', '/v1')).toBeUndefined();
  });

  it.each(['/v1', 'get /v1', 'GET v1', 'GET /{proxy+}/more', 'GET'])('cannot be defined by the key %j', (routeKey) => {
    expect(() => compileRoutes([route(routeKey)])).toThrow(/is invalid: it must be 'METHOD \/path'/);
  });
});
