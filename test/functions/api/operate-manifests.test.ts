import { describe, expect, it, vi } from 'vitest';
import { sql } from '../../../shared/db/sql.ts';
import { START, useOperations } from './use-operations.ts';

const { engine, get, post, audit, takePokes } = useOperations();
const none = { type: 'none' as const };
const entries = () =>
  engine.rows<Record<string, unknown>>(
    sql`select id::text, input, lane, available_at, initiator_type, initiator_id, initiator_name from waybill.work_queue order by work_queue.id`,
  );

describe('POST /v1/manifests/{externalId}/trigger', () => {
  it('queues the manifest with its own input, writes down who asked, and pokes the dispatcher', async () => {
    await engine.sync([{ externalId: 'job', input: { a: 1 }, schedule: none }]);
    const reply = await post('/v1/manifests/job/trigger');
    const [entry] = await entries();
    expect(reply).toMatchObject({ status: 202, headers: { 'cache-control': 'no-store' } });
    expect(reply.json).toEqual({ outcome: 'queued', queueEntryId: entry!.id, behindExecutionId: null });
    expect(entry).toMatchObject({
      input: { a: 1 },
      initiator_type: 'user',
      initiator_id: 'arn:aws:sts::123456789012:assumed-role/operators/ada',
      initiator_name: 'ada',
    });
    expect(await audit()).toMatchObject([{ action: 'manifest.trigger', target: 'job', name: 'ada', after: { outcome: 'queued' } }]);
    expect(takePokes()).toEqual({ dispatcher: 1, manager: 0 });
  });

  it('answers 200 and the same entry when it is asked again', async () => {
    await engine.sync([{ externalId: 'job', schedule: none }]);
    const first = await post('/v1/manifests/job/trigger', { input: { a: 1 } });
    for (const body of [{ input: { a: 1 } }, {}, undefined]) {
      const again = await post('/v1/manifests/job/trigger', body);
      expect(again).toMatchObject({ status: 200, json: { outcome: 'already_queued', queueEntryId: first.json.queueEntryId } });
    }
    expect(await entries()).toHaveLength(1);
  });

  it('brings a delayed entry forward, and leaves waking for a delayed one to the manager', async () => {
    await engine.sync([{ externalId: 'job', schedule: none }]);
    const delayed = await post('/v1/manifests/job/trigger', { delaySeconds: 600 });
    expect(delayed).toMatchObject({ status: 202, json: { outcome: 'queued' } });
    expect(takePokes()).toEqual({ dispatcher: 0, manager: 1 });
    expect(await entries()).toMatchObject([{ available_at: new Date('2026-03-02T00:10:00Z') }]);
    const now = await post('/v1/manifests/job/trigger');
    expect(now).toMatchObject({ status: 202, json: { outcome: 'brought_forward', queueEntryId: delayed.json.queueEntryId } });
    expect(await entries()).toMatchObject([{ available_at: new Date(START) }]);
  });

  it('names the execution that has to end first', async () => {
    await engine.sync([{ externalId: 'job', schedule: none }]);
    await post('/v1/manifests/job/trigger');
    await engine.dispatch();
    const [bell] = engine.doorbell.bells;
    expect((await post('/v1/manifests/job/trigger')).json).toMatchObject({
      outcome: 'queued',
      behindExecutionId: String(bell!.executionId),
    });
  });

  it('refuses another input while one is queued', async () => {
    await engine.sync([{ externalId: 'job', schedule: none }]);
    await post('/v1/manifests/job/trigger', { input: { a: 1 } });
    expect(await post('/v1/manifests/job/trigger', { input: { a: 2 } })).toMatchObject({
      status: 409,
      headers: { 'content-type': 'application/problem+json' },
      json: { code: 'already_queued', title: 'Conflict' },
    });
    expect(await audit()).toHaveLength(1);
  });

  it.each(['unknown', 'a\0b', "x' or '1'='1"])('a manifest %j does not exist', async (name) => {
    expect(await post(`/v1/manifests/${name}/trigger`)).toMatchObject({ status: 404, json: { code: 'manifest_not_found' } });
  });

  it.each([
    [{ delaySeconds: -1 }, 'delaySeconds must be a whole number from 0 to 31536000 (one year), got -1'],
    [{ delaySeconds: 1.5 }, 'delaySeconds must be a whole number from 0 to 31536000 (one year), got 1.5'],
    [{ delaySeconds: '5' }, 'delaySeconds must be a number, got "5"'],
    [{ delaySeconds: null }, 'delaySeconds must be a number, got null'],
  ])('refuses %j', async (body, detail) => {
    await engine.sync([{ externalId: 'job', schedule: none }]);
    expect(await post('/v1/manifests/job/trigger', body)).toMatchObject({ status: 400, json: { code: 'invalid_request', detail } });
    expect(await entries()).toHaveLength(0);
  });

  it('a caller without an identity is anonymous', async () => {
    await engine.sync([{ externalId: 'job', schedule: none }]);
    await post('/v1/manifests/job/trigger', undefined, { userArn: undefined });
    expect(await entries()).toMatchObject([{ initiator_type: 'user', initiator_id: 'anonymous', initiator_name: 'anonymous' }]);
  });
});

describe('POST /v1/manifests/{externalId}/disable and /enable', () => {
  it('answer the manifest as it is now, write down who did it, and poke the manager to look again', async () => {
    await engine.sync([{ externalId: 'job' }]);
    expect(await post('/v1/manifests/job/disable')).toMatchObject({
      status: 200,
      json: { externalId: 'job', isEnabled: false, nextDueAt: null, state: 'disabled' },
    });
    engine.clock.advance(90);
    takePokes();
    expect(await post('/v1/manifests/job/enable')).toMatchObject({
      status: 200,
      json: { isEnabled: true, nextDueAt: '2026-03-02T00:02:00.000Z', state: 'scheduled' },
    });
    expect(takePokes()).toEqual({ dispatcher: 0, manager: 1 });
    expect(await audit()).toMatchObject([
      { action: 'manifest.disable', target: 'job', name: 'ada' },
      { action: 'manifest.enable', target: 'job', name: 'ada' },
    ]);
  });

  it('change nothing when repeated', async () => {
    await engine.sync([{ externalId: 'job' }]);
    for (const path of ['enable', 'enable', 'disable', 'disable'])
      expect(await post(`/v1/manifests/job/${path}`)).toMatchObject({ status: 200, json: { isEnabled: path === 'enable' } });
    expect((await audit()).map(({ action }) => action)).toEqual(['manifest.disable']);
  });

  it.each(['enable', 'disable'])('%s of what does not exist is a 404, and of a body with fields a 400', async (path) => {
    expect(await post(`/v1/manifests/unknown/${path}`)).toMatchObject({ status: 404, json: { code: 'manifest_not_found' } });
    await engine.sync([{ externalId: 'job' }]);
    expect(await post(`/v1/manifests/job/${path}`, { force: true })).toMatchObject({
      status: 400,
      json: { detail: "the body has fields that are unknown here: 'force'; allowed are none" },
    });
  });
});

describe('GET /v1/manifests/{externalId}/why', () => {
  it('explains by the pools of this deployment, and is never cached', async () => {
    vi.stubEnv('WAYBILL_POOL_SIZES', '{"default":{"concurrency":1,"batchSize":1}}');
    await engine.sync([{ externalId: 'job', schedule: none }]);
    const reply = await get('/v1/manifests/job/why');
    expect(reply).toMatchObject({ status: 200, headers: { 'cache-control': 'no-store' } });
    expect(reply.json).toEqual({
      state: 'manual',
      runsNow: false,
      reasons: [{ code: 'manual', message: 'it has no schedule: it runs when somebody triggers it' }],
    });
    expect(await get('/v1/manifests/unknown/why')).toMatchObject({ status: 404, json: { code: 'manifest_not_found' } });
    vi.unstubAllEnvs();
  });
});

it.each([
  '/v1/manifests/job/trigger',
  '/v1/manifests/job/enable',
  '/v1/manifests/job/disable',
  '/v1/executions/1/cancel',
  '/v1/executions/1/rerun',
  '/v1/queue/1/cancel',
  '/v1/dead-letters/1/retry',
  '/v1/dead-letters/1/acknowledge',
  '/v1/workflows/work/run',
  '/v1/pause',
  '/v1/unpause',
])('%s changes something and is therefore never a GET', async (path) => {
  expect(await get(path)).toMatchObject({ status: 405, headers: { allow: 'POST' }, json: { code: 'method_not_allowed' } });
});
