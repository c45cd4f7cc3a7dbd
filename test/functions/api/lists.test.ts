import { describe, expect, it } from 'vitest';
import { lease, plantIn } from '../../operations/plant.ts';
import { useDatabase } from '../../support/database.ts';
import { useApi } from './use-api.ts';

const server = useDatabase();
const api = useApi(server);

const namesOf = (items: { externalId: string }[]) => items.map(({ externalId }) => externalId);
const idsOf = (items: { id: string }[]) => items.map(({ id }) => id);
const finished = { state: 'completed', finished_at: new Date() };

describe('GET /v1/manifests', () => {
  const find = async (query: Record<string, string>) => namesOf((await api.get('/v1/manifests', { query })).json.items);

  it('filters by group, workflow, state and part of the id, each narrowing the others', async () => {
    const plant = plantIn(server.pool);
    await plant.manifest('filter-a', { group: 'north', workflow_name: 'w1' });
    await plant.manifest('filter-b', { group: 'north', workflow_name: 'w2', is_enabled: false });
    await plant.manifest('filter-c', { group: 'south', workflow_name: 'w1' });
    await plant.manifest('filter-gone', { group: 'north', workflow_name: 'w1', deleted_at: new Date() });
    expect(await find({ q: 'filter-' })).toEqual(['filter-a', 'filter-b', 'filter-c']);
    expect(await find({ q: 'FILTER-', group: 'north' })).toEqual(['filter-a', 'filter-b']);
    expect(await find({ workflow: 'w1' })).toEqual(['filter-a', 'filter-c']);
    expect(await find({ q: 'filter', state: 'disabled' })).toEqual(['filter-b']);
    expect(await find({ group: 'south', workflow: 'w2' })).toEqual([]);
    expect(await find({ q: 'filter-a', group: '', state: '' })).toEqual(['filter-a']);
  });

  it('takes the characters of a search literally', async () => {
    const plant = plantIn(server.pool);
    await plant.manifest('literal_1');
    await plant.manifest('literal-2');
    expect(await find({ q: 'literal_' })).toEqual(['literal_1']);
    expect(await find({ q: 'lit%' })).toEqual([]);
    expect(await find({ q: 'literal\\_1' })).toEqual([]);
  });

  it('finds nothing and breaks nothing when a parameter holds SQL', async () => {
    await plantIn(server.pool).manifest('survivor');
    for (const name of ['q', 'group', 'workflow']) {
      expect(await find({ [name]: "' or 1=1; drop table waybill.manifest cascade; --" })).toEqual([]);
    }
    expect(await find({ q: 'survivor' })).toEqual(['survivor']);
  });

  it('pages through 250 manifests without gap or repeat while others are inserted', async () => {
    const plant = plantIn(server.pool);
    const planted = Array.from({ length: 250 }, (_, index) => `page-${String(index).padStart(3, '0')}`);
    for (const name of planted) await plant.manifest(name, { group: 'pages' });
    const seen: string[] = [];
    let cursor = '';
    let pageCount = 0;
    do {
      const { json } = await api.get('/v1/manifests', { query: { group: 'pages', limit: '40', cursor } });
      seen.push(...namesOf(json.items));
      cursor = json.nextCursor ?? '';
      await plant.manifest(`page-${String(pageCount).padStart(3, '0')}-behind`, { group: 'pages' });
      await plant.manifest(`page-249-ahead-${pageCount++}`, { group: 'pages' });
    } while (cursor);
    expect(seen.filter((name) => planted.includes(name))).toEqual(planted);
    expect(new Set(seen).size).toBe(seen.length);
  });

  it('gives 50 unless told otherwise, and no cursor with the last page', async () => {
    const plant = plantIn(server.pool);
    for (let index = 0; index < 51; index++) await plant.manifest(`fifty-${index}`, { group: 'fifty' });
    const first = (await api.get('/v1/manifests', { query: { group: 'fifty' } })).json;
    expect(first.items).toHaveLength(50);
    const last = (await api.get('/v1/manifests', { query: { group: 'fifty', cursor: first.nextCursor } })).json;
    expect(last.items).toHaveLength(1);
    expect(last.nextCursor).toBeNull();
    expect((await api.get('/v1/manifests', { query: { group: 'fifty', limit: '51' } })).json.nextCursor).toBeNull();
  });
});

describe('GET /v1/executions', () => {
  const find = async (query: Record<string, string>) => idsOf((await api.get('/v1/executions', { query })).json.items);

  it('filters by manifest, workflow and state, the newest first', async () => {
    const plant = plantIn(server.pool);
    const manifestId = await plant.manifest('runs');
    const first = await plant.execution({ ...finished, manifest_id: manifestId, workflow_name: 'runs-w1' });
    const second = await plant.execution({ manifest_id: manifestId, workflow_name: 'runs-w2', state: 'in_progress', ...lease });
    const adHoc = await plant.execution({ ...finished, workflow_name: 'runs-w1' });
    expect(await find({ manifest: 'runs' })).toEqual([second, first]);
    expect(await find({ workflow: 'runs-w1' })).toEqual([adHoc, first]);
    expect(await find({ manifest: 'runs', state: 'completed' })).toEqual([first]);
    expect(await find({ manifest: 'nobody' })).toEqual([]);
  });

  it('shows what a deleted manifest ran, together with its successor of the same name', async () => {
    const plant = plantIn(server.pool);
    const before = await plant.manifest('reborn', { deleted_at: new Date() });
    const after = await plant.manifest('reborn');
    const old = await plant.execution({ ...finished, manifest_id: before });
    const recent = await plant.execution({ ...finished, manifest_id: after });
    expect(await find({ manifest: 'reborn' })).toEqual([recent, old]);
  });

  it('pages through 250 executions without gap or repeat while others are inserted', async () => {
    const plant = plantIn(server.pool);
    const manifestId = await plant.manifest('many-runs');
    const planted: string[] = [];
    for (let index = 0; index < 250; index++) planted.unshift(await plant.execution({ ...finished, manifest_id: manifestId }));
    const seen: string[] = [];
    let cursor = '';
    do {
      const { json } = await api.get('/v1/executions', { query: { manifest: 'many-runs', limit: '40', cursor } });
      seen.push(...idsOf(json.items));
      cursor = json.nextCursor ?? '';
      await plant.execution({ ...finished, manifest_id: manifestId });
    } while (cursor);
    expect(seen).toEqual(planted);
  });
});

describe('a parameter that cannot be meant', () => {
  const foreignCursor = Buffer.from('executions:5').toString('base64url');
  it.each([
    ['/v1/manifests', 'limit=0', "limit '0' is not allowed: give a whole number from 1 to 200"],
    ['/v1/manifests', 'limit=201', "limit '201' is not allowed: give a whole number from 1 to 200"],
    ['/v1/executions', 'limit=abc', "limit 'abc' is not allowed: give a whole number from 1 to 200"],
    ['/v1/executions', 'limit=1.5', "limit '1.5' is not allowed: give a whole number from 1 to 200"],
    ['/v1/executions', 'limit=1e2', "limit '1e2' is not allowed: give a whole number from 1 to 200"],
    ['/v1/executions', 'state=done', "state 'done' is unknown: allowed are waiting, pending, in_progress"],
    ['/v1/manifests', 'state=on fire', "state 'on fire' is unknown: allowed are retiring, dead_lettered"],
    ['/v1/manifests', 'sate=running', "query parameter 'sate' is unknown: allowed are group, workflow, state, q, limit, cursor"],
    ['/v1/manifests', 'constructor=x', "query parameter 'constructor' is unknown"],
    ['/v1/manifests', 'state=queued&state=running', "query parameter 'state' was given 2 times: give it once"],
    ['/v1/manifests', 'q=%00', 'contains the character U+0000'],
    ['/v1/manifests', `q=${'x'.repeat(201)}`, 'has 201 characters: give at most 200'],
    ['/v1/manifests', 'cursor=%2F%2F', "cursor '//' is malformed: give the nextCursor of the previous page"],
    ['/v1/manifests', `cursor=${foreignCursor}`, 'is malformed'],
    ['/v1/executions', `cursor=${foreignCursor}=`, 'is malformed'],
    ['/v1/executions', `cursor=${Buffer.from('executions:99999999999999999999').toString('base64url')}`, 'is malformed'],
    ['/v1/executions', `cursor=${Buffer.from("executions:1' or 1=1").toString('base64url')}`, 'is malformed'],
    ['/v1/health', 'verbose=1', "query parameter 'verbose' is unknown: allowed are none here"],
  ])('is refused: %s?%s', async (path, query, detail) => {
    const reply = await api.get(path, { query });
    expect(reply.status).toBe(400);
    expect(reply.json).toMatchObject({
      status: 400,
      title: 'Bad Request',
      code: 'invalid_request',
      detail: expect.stringContaining(detail),
    });
  });
});
