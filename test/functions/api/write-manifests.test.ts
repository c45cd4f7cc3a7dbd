import { beforeEach, describe, expect, it } from 'vitest';
import { sql } from '../../../shared/db/sql.ts';
import { useOperations } from './use-operations.ts';

const { engine, get, post, put, patch, remove, audit, takePokes } = useOperations();
const none = { type: 'none' };

beforeEach(() => engine.sync([{ externalId: 'of-the-app', group: 'apps' }]));

describe('PUT /v1/manifests/{externalId}', () => {
  const body = {
    workflow: 'work',
    input: { a: 1 },
    schedule: { type: 'cron', cron: '0 2 * * *' },
    group: { name: 'etl', maxActiveJobs: 2 },
  };

  it('answers 201 and the manifest, then 200, and pokes the manager', async () => {
    const created = await put('/v1/manifests/job', body);
    expect(created).toMatchObject({
      status: 201,
      headers: { 'cache-control': 'no-store' },
      json: { externalId: 'job', owner: 'runtime', version: 1, group: 'etl', nextDueAt: '2026-03-02T02:00:00.000Z', state: 'scheduled' },
    });
    expect(takePokes()).toEqual({ dispatcher: 0, manager: 1 });
    expect(await put('/v1/manifests/job', { ...body, externalId: 'job' })).toMatchObject({ status: 200, json: { version: 1 } });
    expect(await put('/v1/manifests/job', { ...body, input: { a: 2 } })).toMatchObject({
      status: 200,
      json: { version: 2, input: { a: 2 } },
    });
    expect((await audit()).map(({ action, name }) => `${action} by ${name}`)).toEqual([
      'group.create by ada',
      'manifest.create by ada',
      'manifest.change by ada',
    ]);
  });

  it.each<[string, unknown, number, string, string]>([
    [
      'job',
      { ...body, externalId: 'other' },
      400,
      'invalid_request',
      "the body is for another manifest than the path, 'job': leave out externalId",
    ],
    ['a b', body, 400, 'invalid_manifest', "manifest 'a b': its id must be"],
    ['job', { ...body, workflow: 'unknown' }, 400, 'workflow_not_found', "manifest 'job': workflow 'unknown' is not deployed"],
    ['job', { ...body, prioirty: 1 }, 400, 'invalid_manifest', "option 'prioirty' does not exist"],
    ['job', { workflow: 'work', schedule: { type: 'dependent', dependsOn: 'nobody' } }, 400, 'unknown_parent', "'job' depends on 'nobody'"],
    ['job', undefined, 400, 'invalid_manifest', "manifest 'job': its workflow undefined"],
    ['of-the-app', body, 409, 'foreign_manifest', "manifest 'of-the-app' belongs to app 'test'"],
  ])('refuses at %s the body %j', async (externalId, given, status, code, detail) => {
    expect(await put(`/v1/manifests/${externalId}`, given)).toMatchObject({
      status,
      json: { code, detail: expect.stringContaining(detail) },
    });
    expect(await get('/v1/manifests/job')).toMatchObject({ status: 404 });
  });
});

describe.each([
  ['PUT', (headers?: Record<string, string>) => put('/v1/manifests/job', { workflow: 'work', schedule: none, priority: 7 }, { headers })],
  ['PATCH', (headers?: Record<string, string>) => patch('/v1/manifests/job', { priority: 7 }, { headers })],
  ['DELETE', (headers?: Record<string, string>) => remove('/v1/manifests/job', undefined, { headers })],
])('%s with the tag of what was read', (_, change) => {
  const reread = async () => (await get('/v1/manifests/job')).json;

  it('refuses to overwrite what somebody changed since, and then does it with the new tag', async () => {
    await put('/v1/manifests/job', { workflow: 'work', schedule: none });
    const tag = String((await get('/v1/manifests/job')).headers.etag);
    await post('/v1/manifests/job/disable');
    const before = await reread();
    expect(await change({ 'if-match': tag })).toMatchObject({
      status: 412,
      json: { code: 'version_mismatch', detail: "manifest 'job' has version 2, not 1: somebody has changed it, read it again" },
    });
    expect(await reread()).toEqual(before);
    expect(await change({ 'if-match': '"2"' })).toMatchObject({ status: 200 });
  });

  it('refuses a tag that is none', async () => {
    await put('/v1/manifests/job', { workflow: 'work', schedule: none });
    expect(await change({ 'if-match': 'two' })).toMatchObject({ status: 400, json: { detail: expect.stringContaining('is malformed') } });
    expect(await change({ 'if-match': '*' })).toMatchObject({ status: 200 });
  });
});

describe('PUT with a tag', () => {
  const body = { workflow: 'work', schedule: none };

  it.each(['"1"', '*'])('%s creates nothing', async (tag) => {
    const reply = await put('/v1/manifests/job', body, { headers: { 'if-match': tag } });
    expect(reply).toMatchObject({ status: 412, json: { code: 'version_mismatch' } });
    expect(await get('/v1/manifests/job')).toMatchObject({ status: 404 });
  });

  it('that is of another version refuses even what would change nothing', async () => {
    await put('/v1/manifests/job', body);
    expect(await put('/v1/manifests/job', body, { headers: { 'if-match': '"2"' } })).toMatchObject({ status: 412 });
    expect(await put('/v1/manifests/job', body, { headers: { 'if-match': '"1"' } })).toMatchObject({ status: 200, json: { version: 1 } });
  });

  it('is not for many manifests', async () => {
    const reply = await put('/v1/manifests', { manifests: [{ externalId: 'job', ...body }] }, { headers: { 'if-match': '"1"' } });
    expect(reply).toMatchObject({ status: 400, json: { detail: expect.stringContaining('if-match is the tag of one manifest') } });
  });
});

describe('PUT /v1/manifests', () => {
  const job = (externalId: string, more: object = {}) => ({ externalId, workflow: 'work', schedule: none, ...more });

  it('writes many in one transaction and says what became of each', async () => {
    const child = job('child', { schedule: { type: 'dependent', dependsOn: ['parent'] } });
    expect(await put('/v1/manifests', { manifests: [job('parent'), child] })).toMatchObject({
      status: 200,
      json: {
        items: [
          { externalId: 'parent', outcome: 'created' },
          { externalId: 'child', outcome: 'created' },
        ],
      },
    });
    expect((await put('/v1/manifests', { manifests: [job('parent', { priority: 1 }), child] })).json.items).toMatchObject([
      { outcome: 'changed' },
      { outcome: 'unchanged' },
    ]);
  });

  it('writes none if one is refused', async () => {
    expect(await put('/v1/manifests', { manifests: [job('good'), job('bad', { priority: 99 })] })).toMatchObject({
      status: 400,
      json: { code: 'invalid_manifest', detail: "manifest 'bad': priority must be a whole number from 0 to 31, got 99" },
    });
    expect(await get('/v1/manifests/good')).toMatchObject({ status: 404 });
  });

  it.each<[unknown, string]>([
    [{}, '1 to 5000 manifests go into one request, got no list'],
    [{ manifests: [] }, '1 to 5000 manifests go into one request, got 0'],
    [{ manifest: [] }, "the body has fields that are unknown here: 'manifest'; allowed are manifests"],
  ])('refuses %j', async (body, detail) => {
    expect(await put('/v1/manifests', body)).toMatchObject({ status: 400, json: { code: 'invalid_request', detail } });
  });

  it('takes larger bodies than other routes, up to what an invocation can carry', async () => {
    const text = 'x'.repeat(1_000_000);
    const three = [1, 2, 3].map((index) => job(`large-${index}`, { input: { text } }));
    expect(await put('/v1/manifests', { manifests: three })).toMatchObject({ status: 200 });
    expect(await put('/v1/manifests/large', { ...three[0], externalId: 'large', input: { text: text + text + text } })).toMatchObject({
      status: 413,
    });
    expect(await put('/v1/manifests', { manifests: [...three, ...three] })).toMatchObject({
      status: 413,
      json: { code: 'body_too_large' },
    });
  });
});

describe('PATCH /v1/manifests/{externalId}', () => {
  it('changes settings of an app’s manifest, and answers it as it is now', async () => {
    expect(await patch('/v1/manifests/of-the-app', { priority: 9, timeoutSeconds: 30 })).toMatchObject({
      status: 200,
      json: { owner: 'test', priority: 9, timeoutSeconds: 30, version: 2 },
    });
    expect(await patch('/v1/manifests/of-the-app', { timeoutSeconds: null })).toMatchObject({
      status: 200,
      json: { timeoutSeconds: null, priority: 9 },
    });
  });

  it('given the tag of what was read, refuses to overwrite what somebody changed since', async () => {
    const tag = String((await get('/v1/manifests/of-the-app')).headers.etag);
    expect(tag).toMatch(/^"1-[\w-]{43}"$/);
    const change = (priority: number, ifMatch: string) =>
      patch('/v1/manifests/of-the-app', { priority }, { headers: { 'if-match': ifMatch } });
    expect(await change(1, tag)).toMatchObject({ status: 200 });
    expect(await change(2, tag)).toMatchObject({ status: 412, json: { code: 'version_mismatch', title: 'Precondition Failed' } });
    expect(await change(3, '"2"')).toMatchObject({ status: 200 });
    expect(await change(4, 'W/"3-abc"')).toMatchObject({ status: 200 });
    expect(await change(5, '*')).toMatchObject({ status: 200, json: { priority: 5 } });
  });

  it('the tag also changes with what is not declared, so that screens see it', async () => {
    const first = await get('/v1/manifests/of-the-app');
    const known = { headers: { 'if-none-match': String(first.headers.etag) } };
    expect(await get('/v1/manifests/of-the-app', known)).toMatchObject({ status: 304 });
    await engine.database.query(sql`update waybill.manifest set success_count = 5`);
    expect(await get('/v1/manifests/of-the-app', known)).toMatchObject({ status: 200, json: { successCount: 5, version: 1 } });
  });

  it.each(['7', '"seven"', '"1", "2"'])('refuses the tag %s', async (tag) => {
    const reply = await patch('/v1/manifests/of-the-app', { priority: 1 }, { headers: { 'if-match': tag } });
    expect(reply).toMatchObject({
      status: 400,
      json: { code: 'invalid_request', detail: expect.stringContaining('give the ETag of the manifest') },
    });
  });

  it('refuses what is not an operator’s to change, and what does not exist', async () => {
    expect(await patch('/v1/manifests/of-the-app', { input: {} })).toMatchObject({ status: 400, json: { code: 'invalid_request' } });
    expect(await patch('/v1/manifests/unknown', { priority: 1 })).toMatchObject({ status: 404, json: { code: 'manifest_not_found' } });
  });
});

describe('DELETE /v1/manifests/{externalId}', () => {
  it('answers 200 with who is orphaned, and 202 for one that still runs', async () => {
    await put('/v1/manifests', {
      manifests: [
        { externalId: 'parent', workflow: 'work', schedule: none },
        { externalId: 'child', workflow: 'work', schedule: { type: 'dependent', dependsOn: 'parent' } },
      ],
    });
    expect(await remove('/v1/manifests/parent')).toMatchObject({ status: 200, json: { outcome: 'deleted', orphaned: ['child'] } });
    expect(await get('/v1/manifests/child')).toMatchObject({ json: { state: 'orphaned' } });
    expect((await get('/v1/manifests', { query: { state: 'orphaned' } })).json.items).toMatchObject([{ externalId: 'child' }]);
    await post('/v1/manifests/child/trigger');
    await engine.dispatch();
    expect(await remove('/v1/manifests/child')).toMatchObject({ status: 202, json: { outcome: 'retiring' } });
  });

  it('refuses what does not exist, and a body', async () => {
    expect(await remove('/v1/manifests/unknown')).toMatchObject({ status: 404, json: { code: 'manifest_not_found' } });
    expect(await remove('/v1/manifests/of-the-app', { force: true })).toMatchObject({ status: 400, json: { code: 'invalid_request' } });
  });
});
