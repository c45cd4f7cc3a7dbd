import { beforeEach, describe, expect, it, vi } from 'vitest';
import { routeTable } from '../../../functions/api/route-table.ts';
import { useOperations } from './use-operations.ts';

const { engine, post, put, patch, remove, get } = useOperations();
const headers = { 'content-type': 'application/json' };
/** Deeper than any stack; the parser of JSON needs none. */
const deep = '['.repeat(200_000) + ']'.repeat(200_000);
const none = '"schedule":{"type":"none"}';

beforeEach(() => {
  vi.stubEnv('WAYBILL_POOL_SIZES', '{}');
  return engine.sync([{ externalId: 'job', schedule: { type: 'none' } }]);
});

describe('what is nested deeper than the stack is refused by its name, as', () => {
  it.each([
    ['a schedule', `{"workflow":"work","schedule":${deep}}`, 'its schedule must be an object with a type of'],
    ['a type', `{"workflow":"work","schedule":{"type":${deep}}}`, 'got type a list'],
    ['a workflow', `{"workflow":${deep},${none}}`, 'its workflow a list must be'],
    ['a cron expression', `{"workflow":"work","schedule":{"type":"cron","cron":${deep}}}`, 'cron expression must be a text, got a list'],
    ['a zone', `{"workflow":"work","schedule":{"type":"cron","cron":"* * * * *","timeZone":${deep}}}`, 'time zone must be a text'],
    ['an interval', `{"workflow":"work","schedule":{"type":"interval","intervalSeconds":${deep}}}`, '(one year), got a list'],
    ['an instant', `{"workflow":"work","schedule":{"type":"once","runAt":${deep}}}`, 'must be an instant as text, got a list'],
    ['a parent', `{"workflow":"work","schedule":{"type":"dependent","dependsOn":${deep}}}`, 'an id or a list of ids, got a list'],
    ['a misfire', `{"workflow":"work",${none},"misfire":${deep}}`, 'or { fireAll: n }, got a list'],
    ['exclusions', `{"workflow":"work",${none},"exclude":[{"type":${deep}}]}`, 'date_range or time_window, got a list'],
    ['a pool', `{"workflow":"work",${none},"pool":${deep}}`, 'pool a list must be'],
    ['a group', `{"workflow":"work",${none},"group":{"name":${deep}}}`, 'group name a list must be'],
    ['attempts', `{"workflow":"work",${none},"maxAttempts":${deep}}`, 'maxAttempts must be a whole number from 1 to 1000, got a list'],
    ['a backoff', `{"workflow":"work",${none},"backoff":{"initialSeconds":${deep},"maxSeconds":[]}}`, 'backoff.initialSeconds must be'],
    ['an input', `{"workflow":"work",${none},"input":${deep}}`, 'nested more than 200 levels deep'],
  ])('%s', async (_, body, detail) => {
    const reply = await put('/v1/manifests/new', undefined, { headers, body });
    expect(reply).toMatchObject({ status: 400, json: { detail: expect.stringContaining(detail) } });
  });

  it('a setting of a patch', async () => {
    const reply = await patch('/v1/manifests/job', undefined, { headers, body: `{"pool":${deep}}` });
    expect(reply).toMatchObject({ status: 400, json: { detail: expect.stringContaining('pool a list must be') } });
  });

  it('settings of a group that two manifests state', async () => {
    const manifest = (id: string) => `{"externalId":"${id}","workflow":"work",${none},"group":{"name":"g","priority":${deep}}}`;
    const reply = await put('/v1/manifests', undefined, { headers, body: `{"manifests":[${manifest('a')},${manifest('b')}]}` });
    expect(reply).toMatchObject({ status: 400, json: { detail: expect.stringContaining('priority is stated as a list and as a list') } });
  });
});

it.each([
  ['has no text', '{"toString":1}', `manifest '{"toString":1}': its id must be`],
  ['is deeper than the stack', deep, "manifest 'a list': its id must be"],
  ['is far too long', `"${'x'.repeat(100_000)}"`, `manifest '${'x'.repeat(200)}': its id must be`],
])('an id that %s is refused, and shortly', async (_, externalId, detail) => {
  const body = `{"manifests":[{"externalId":${externalId},"workflow":"work",${none}}]}`;
  const reply = await put('/v1/manifests', undefined, { headers, body });
  expect(reply).toMatchObject({ status: 400, json: { detail: expect.stringContaining(detail) } });
  expect(reply.text?.length).toBeLessThan(3_000);
});

describe('what cannot be the name of anything is not found, never a failure of ours:', () => {
  const named = routeTable.filter(({ path }) => path.includes('{'));
  const names = { 'with U+0000': 'a\0b', overlong: 'x'.repeat(5_000), 'with half of a pair': 'a\ud800b' };
  const send = { GET: (path: string) => get(path), POST: post, PUT: put, PATCH: patch, DELETE: remove };
  const bodies: Record<string, unknown> = {
    'PUT /v1/manifests/{externalId}': { workflow: 'work', schedule: { type: 'none' } },
    'PATCH /v1/manifests/{externalId}': { priority: 1 },
    'PATCH /v1/groups/{name+}': { priority: 1 },
  };

  it.each(
    named.flatMap((route) => Object.entries(names).map(([what, name]) => ({ route, method: route.method, path: route.path, what, name }))),
  )('$method $path, $what', async ({ route: { method, path }, name }) => {
    const reply = await send[method](path.replace(/\{\w+\+?\}/, name), bodies[`${method} ${path}`]);
    expect(reply.status).toBe(method === 'PUT' ? 400 : 404);
  });

  it.each(named.filter(({ path }) => path.includes('{id}')))('$method $path, beyond 64 bits', async ({ method, path }) => {
    expect((await send[method](path.replace('{id}', '9'.repeat(30)))).status).toBe(404);
  });

  it('all routes with a name were asked', () => {
    expect(named.length).toBeGreaterThan(15);
  });
});
