import { describe, expect, it } from 'vitest';
import { sql } from '../../../shared/db/sql.ts';
import { useOperations } from './use-operations.ts';

const { engine, get, post, patch, audit, takePokes } = useOperations();
const none = { type: 'none' as const };

describe('GET /v1/groups', () => {
  it('tells what each group shares and how much of it is in use', async () => {
    await engine.sync(['a', 'b', 'c'].map((externalId) => ({ externalId, group: 'etl', schedule: none })));
    await engine.database.query(sql`update waybill.manifest_group set max_active_jobs = 1, priority = 7 where name = 'etl'`);
    for (const name of ['a', 'b']) await post(`/v1/manifests/${name}/trigger`);
    await engine.dispatch();
    const etl = { name: 'etl', priority: 7, maxActiveJobs: 1, isEnabled: true, liveCount: 1, queuedCount: 1, manifestCount: 3 };
    expect((await get('/v1/groups')).json).toEqual({ items: [etl], nextCursor: null });
    expect(await get('/v1/groups/etl')).toMatchObject({ status: 200, json: etl, headers: { etag: expect.any(String) } });
  });

  it('pages by name without gap or repeat, whatever the names are', async () => {
    const names = ['a/b', 'a:b', 'ä', 'z'];
    await engine.sync(names.map((group, index) => ({ externalId: `m${index}`, group, schedule: none })));
    const seen: string[] = [];
    for (let cursor = ''; ; ) {
      const { json } = await get('/v1/groups', { query: { limit: '1', cursor } });
      seen.push(...json.items.map(({ name }: { name: string }) => name));
      if (!json.nextCursor) break;
      cursor = json.nextCursor;
    }
    expect(seen.toSorted()).toEqual(names.toSorted());
    for (const name of names) expect(await get(`/v1/groups/${name}`)).toMatchObject({ status: 200, json: { name } });
  });

  it.each(['/v1/groups/unknown', '/v1/groups/a\0', `/v1/groups/${'x'.repeat(201)}`])('%j does not exist', async (path) => {
    expect(await get(path)).toMatchObject({ status: 404, json: { code: 'group_not_found' } });
    expect(await patch(path, { priority: 1 })).toMatchObject({ status: 404, json: { code: 'group_not_found' } });
  });
});

describe('PATCH /v1/groups/{name}', () => {
  it('changes only what it states, answers the group, and writes down what it was', async () => {
    await engine.sync([{ externalId: 'a', group: 'etl', schedule: none }]);
    const reply = await patch('/v1/groups/etl', { maxActiveJobs: 4 });
    expect(reply).toMatchObject({ status: 200, json: { name: 'etl', maxActiveJobs: 4, priority: 0, isEnabled: true } });
    expect(await audit()).toMatchObject([
      {
        action: 'group.change',
        target: 'etl',
        name: 'ada',
        before: { priority: 0, maxActiveJobs: null, isEnabled: true },
        after: { priority: 0, maxActiveJobs: 4, isEnabled: true },
      },
    ]);
    expect(takePokes()).toEqual({ dispatcher: 1, manager: 1 });
    expect(await patch('/v1/groups/etl', { maxActiveJobs: null, priority: 31 })).toMatchObject({
      json: { maxActiveJobs: null, priority: 31 },
    });
  });

  it('holds what is queued while it is disabled, and admits it once it is enabled', async () => {
    await engine.sync([{ externalId: 'a', group: 'etl', schedule: none }]);
    await patch('/v1/groups/etl', { isEnabled: false });
    await post('/v1/manifests/a/trigger');
    expect(await engine.dispatch()).toMatchObject({ admittedCount: 0 });
    await patch('/v1/groups/etl', { isEnabled: true });
    expect(await engine.dispatch()).toMatchObject({ admittedCount: 1 });
  });

  it.each([
    [{}, 'nothing to change was given: give priority, maxActiveJobs or isEnabled'],
    [{ priority: 32 }, 'priority must be a whole number from 0 to 31, got 32'],
    [{ priority: null }, 'priority must be a number, got null'],
    [{ maxActiveJobs: 0 }, 'maxActiveJobs must be a whole number from 1 to 1000000, or null for no limit, got 0'],
    [{ maxActiveJobs: '4' }, 'maxActiveJobs must be a number or null, got "4"'],
    [{ isEnabled: 'yes' }, 'isEnabled must be true or false, got "yes"'],
    [
      { maxActive: 4, name: 'x' },
      "the body has fields that are unknown here: 'maxActive', 'name'; allowed are priority, maxActiveJobs, isEnabled",
    ],
  ])('refuses %j and changes nothing', async (body, detail) => {
    await engine.sync([{ externalId: 'a', group: 'etl', schedule: none }]);
    expect(await patch('/v1/groups/etl', body)).toMatchObject({ status: 400, json: { code: 'invalid_request', detail } });
    expect(await audit()).toEqual([]);
  });

  it('is the only way to change one', async () => {
    expect(await post('/v1/groups/etl', {})).toMatchObject({ status: 405, headers: { allow: 'GET, PATCH' } });
  });
});
