import { describe, expect, it } from 'vitest';
import { sql } from '../../../shared/db/sql.ts';
import { START, useOperations } from './use-operations.ts';

const { engine, get, post, audit, takePokes } = useOperations();
const none = { type: 'none' as const };
const deploy = () => engine.sync([{ externalId: 'job', schedule: none }]);

describe('GET /v1/workflows', () => {
  it('lists what the deployed code knows, with the schema for forms, page by page', async () => {
    await deploy();
    await engine.database.query(sql`
      insert into waybill.workflow (name, owner, pool, input_schema, deployment_version, removed_at)
      select name, 'test', 'default', schema::jsonb, (select max(version) from waybill.deployment), removed_at
        from (values ('extract', '{"type":"object"}', null), ('gone', null, waybill.now())) w (name, schema, removed_at)`);
    const first = (await get('/v1/workflows', { query: { limit: '1' } })).json;
    expect(first.items).toEqual([{ name: 'extract', owner: 'test', pool: 'default', inputSchema: { type: 'object' }, updatedAt: START }]);
    const rest = (await get('/v1/workflows', { query: { cursor: first.nextCursor } })).json;
    expect(rest).toMatchObject({ items: [{ name: 'work', inputSchema: null }], nextCursor: null });
  });
});

describe('POST /v1/workflows/{name}/run', () => {
  it('queues an ad-hoc run in the group of its own name, with what was asked for', async () => {
    await deploy();
    const reply = await post('/v1/workflows/work/run', {
      input: { a: 1 },
      delaySeconds: 5,
      maxAttempts: 2,
      priority: 9,
      timeoutSeconds: 60,
    });
    expect(reply).toMatchObject({ status: 202, json: { queueEntryId: expect.stringMatching(/^\d+$/) } });
    expect(takePokes()).toEqual({ dispatcher: 0, manager: 1 });
    expect((await get('/v1/queue')).json.items).toMatchObject([
      {
        id: reply.json.queueEntryId,
        manifest: null,
        workflow: 'work',
        group: 'work',
        priority: 9,
        availableAt: '2026-03-02T00:00:05.000Z',
      },
    ]);
    expect(await audit()).toMatchObject([{ action: 'workflow.run', target: 'work', name: 'ada', after: reply.json }]);
    engine.clock.advance(5);
    await engine.dispatch();
    await engine.deliver();
    expect((await get('/v1/executions')).json.items).toMatchObject([{ state: 'completed', manifest: null, input: { a: 1 } }]);
  });

  it('without a body runs with an empty input, now; each request is a run of its own', async () => {
    await deploy();
    const first = await post('/v1/workflows/work/run');
    const second = await post('/v1/workflows/work/run');
    expect(first.json.queueEntryId).not.toBe(second.json.queueEntryId);
    expect(takePokes()).toEqual({ dispatcher: 2, manager: 0 });
    expect(await engine.dispatch()).toMatchObject({ admittedCount: 2 });
  });

  it.each(['unknown', 'a\0'])('workflow %j is not deployed', async (name) => {
    expect(await post(`/v1/workflows/${name}/run`)).toMatchObject({ status: 404, json: { code: 'workflow_not_found' } });
  });

  it.each([
    [{ maxAttempts: 0 }, 'maxAttempts must be a whole number from 1 to 1000, got 0'],
    [{ priority: 32 }, 'priority must be a whole number from 0 to 31, got 32'],
    [{ timeoutSeconds: 0 }, 'timeoutSeconds must be a whole number from 1 to 31536000, got 0'],
    [{ timeoutSeconds: true }, 'timeoutSeconds must be a number, got true'],
    [
      { retries: 3 },
      "the body has fields that are unknown here: 'retries'; allowed are input, delaySeconds, maxAttempts, priority, timeoutSeconds",
    ],
  ])('refuses %j', async (body, detail) => {
    await deploy();
    expect(await post('/v1/workflows/work/run', body)).toMatchObject({ status: 400, json: { code: 'invalid_request', detail } });
  });
});

describe('POST /v1/pause and /v1/unpause', () => {
  it('stop admitting everywhere until unpaused, and write down each change once', async () => {
    await deploy();
    for (let time = 0; time < 2; time++) expect(await post('/v1/pause')).toMatchObject({ status: 200, json: { isPaused: true } });
    await post('/v1/manifests/job/trigger');
    expect(await engine.dispatch()).toMatchObject({ admittedCount: 0 });
    takePokes();
    for (let time = 0; time < 2; time++) expect(await post('/v1/unpause')).toMatchObject({ status: 200, json: { isPaused: false } });
    expect(takePokes()).toEqual({ dispatcher: 2, manager: 2 });
    expect(await engine.dispatch()).toMatchObject({ admittedCount: 1 });
    expect((await audit()).filter(({ target }) => target === 'admission')).toMatchObject([
      { action: 'system.pause', name: 'ada', before: { isPaused: false }, after: { isPaused: true } },
      { action: 'system.unpause', name: 'ada', before: { isPaused: true }, after: { isPaused: false } },
    ]);
  });
});
