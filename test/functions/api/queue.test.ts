import { describe, expect, it } from 'vitest';
import { sql } from '../../../shared/db/sql.ts';
import { START, useOperations } from './use-operations.ts';

const { engine, get, post, audit, takePokes } = useOperations();
const none = { type: 'none' as const };

type Item = { id: string; manifest: string | null; group: string };
const manifestsOf = ({ json }: { json: { items: Item[] } }) => json.items.map(({ manifest }) => manifest);

describe('GET /v1/queue', () => {
  it('shows what waits, since when, and who asked for it', async () => {
    await engine.sync([{ externalId: 'job', group: 'etl', priority: 3, schedule: none }]);
    const { json } = await post('/v1/manifests/job/trigger', { delaySeconds: 30 });
    expect((await get('/v1/queue')).json).toEqual({
      items: [
        {
          id: json.queueEntryId,
          manifest: 'job',
          workflow: 'work',
          group: 'etl',
          executionId: null,
          lane: 'fresh',
          origin: 'manual',
          attempt: 1,
          priority: 3,
          occurrenceAt: null,
          availableAt: '2026-03-02T00:00:30.000Z',
          createdAt: START,
          initiator: { type: 'user', id: 'arn:aws:sts::123456789012:assumed-role/operators/ada', name: 'ada' },
        },
      ],
      nextCursor: null,
    });
  });

  it('is in the order of claims within a group, and no longer shows what was admitted', async () => {
    await engine.sync([
      { externalId: 'late', group: 'etl', schedule: none },
      { externalId: 'urgent', group: 'etl', priority: 31, schedule: none },
      { externalId: 'early', group: 'etl', schedule: none },
    ]);
    await post('/v1/manifests/early/trigger');
    engine.clock.advance(1);
    await post('/v1/manifests/late/trigger');
    await post('/v1/manifests/urgent/trigger');
    expect(manifestsOf(await get('/v1/queue'))).toEqual(['urgent', 'early', 'late']);
    await engine.dispatch();
    expect(manifestsOf(await get('/v1/queue'))).toEqual([]);
  });

  it('pages through ties, groups and fractions of a millisecond without gap or repeat', async () => {
    const manifests = Array.from({ length: 12 }, (_, index) => ({
      externalId: `job-${index}`,
      group: `group-${index % 3}`,
      schedule: none,
    }));
    await engine.sync(manifests);
    for (const { externalId } of manifests) await post(`/v1/manifests/${externalId}/trigger`);
    await engine.database.query(sql`update waybill.work_queue set available_at = available_at + (id % 2) * interval '7 microseconds'`);
    const seen: Item[] = [];
    for (let cursor = ''; ; ) {
      const { json } = await get('/v1/queue', { query: { limit: '1', cursor } });
      seen.push(...json.items);
      if (!json.nextCursor) break;
      cursor = json.nextCursor;
    }
    expect(seen).toEqual((await get('/v1/queue')).json.items);
    expect(new Set(seen.map(({ id }) => id)).size).toBe(12);
    expect(new Set(seen.slice(0, 4).map(({ group }) => group)).size).toBe(1);
  });

  it('filters by group, manifest and workflow', async () => {
    await engine.sync([
      { externalId: 'a', group: 'north', schedule: none },
      { externalId: 'b', group: 'south', schedule: none },
    ]);
    for (const name of ['a', 'b']) await post(`/v1/manifests/${name}/trigger`);
    await post('/v1/workflows/work/run');
    const find = async (query: Record<string, string>) => manifestsOf(await get('/v1/queue', { query }));
    expect(await find({ group: 'north' })).toEqual(['a']);
    expect(await find({ manifest: 'b' })).toEqual(['b']);
    expect(await find({ workflow: 'work' })).toEqual(['a', 'b', null]);
    expect(await find({ group: 'work' })).toEqual([null]);
    expect(await find({ group: 'unknown' })).toEqual([]);
    expect(await find({ manifest: 'unknown' })).toEqual([]);
  });

  it.each(['nonsense', Buffer.from('queue:1:2').toString('base64url'), Buffer.from('queue:1:x:2').toString('base64url')])(
    'refuses the cursor %j',
    async (cursor) => {
      expect(await get('/v1/queue', { query: { cursor } })).toMatchObject({ status: 400, json: { code: 'invalid_request' } });
    },
  );
});

describe('POST /v1/queue/{id}/cancel', () => {
  it('takes an entry out of the queue once, and writes down who did', async () => {
    await engine.sync([{ externalId: 'job', schedule: none }]);
    const { queueEntryId } = (await post('/v1/manifests/job/trigger')).json;
    takePokes();
    expect(await post(`/v1/queue/${queueEntryId}/cancel`)).toMatchObject({ status: 200, json: { outcome: 'cancelled' } });
    expect((await get('/v1/queue')).json.items).toEqual([]);
    expect((await audit()).at(-1)).toMatchObject({ action: 'queue.cancel', target: queueEntryId, name: 'ada' });
    expect(takePokes()).toEqual({ dispatcher: 1, manager: 1 });
    expect(await post(`/v1/queue/${queueEntryId}/cancel`)).toMatchObject({ status: 409, json: { code: 'not_queued' } });
  });

  it.each(['999999', 'abc'])('entry %j does not exist', async (id) => {
    expect(await post(`/v1/queue/${id}/cancel`)).toMatchObject({ status: 404, json: { code: 'entry_not_found' } });
  });
});
