import { describe, expect, it } from 'vitest';
import type { Database } from '../../../shared/db/database.ts';
import { DatabaseError } from '../../../shared/errors.ts';
import { createLogger } from '../../../shared/observability/log.ts';
import { ask } from './use-api.ts';
import { START, useOperations } from './use-operations.ts';

const { engine, get, post, audit, takePokes, plantDeadLetters } = useOperations();

describe('GET /v1/dead-letters', () => {
  it('shows what failed, why and with which input', async () => {
    const [id] = await plantDeadLetters('job');
    const letter = {
      id,
      manifest: 'job',
      workflow: 'work',
      executionId: expect.stringMatching(/^\d+$/),
      runId: expect.stringMatching(/^\d+$/),
      status: 'awaiting_intervention',
      reason: 'exhausted',
      message: 'broken',
      failedCount: 1,
      input: { of: 'job' },
      createdAt: START,
      resolvedAt: null,
      resolvedBy: null,
      resolutionNote: null,
    };
    expect((await get('/v1/dead-letters')).json).toEqual({ items: [letter], nextCursor: null });
    expect((await get(`/v1/dead-letters/${id}`)).json).toEqual(letter);
  });

  it('filters by status and manifest, and pages from the newest on', async () => {
    const [a, b, c] = await plantDeadLetters('a', 'b', 'c');
    await post(`/v1/dead-letters/${b}/acknowledge`);
    const find = async (query: Record<string, string>) =>
      (await get('/v1/dead-letters', { query })).json.items.map(({ id }: { id: string }) => id);
    expect(await find({})).toEqual([c, b, a]);
    expect(await find({ status: 'awaiting_intervention' })).toEqual([c, a]);
    expect(await find({ status: 'acknowledged', manifest: 'a' })).toEqual([]);
    expect(await find({ manifest: 'b' })).toEqual([b]);
    const { items, nextCursor } = (await get('/v1/dead-letters', { query: { limit: '2' } })).json;
    expect(items).toHaveLength(2);
    expect(await find({ cursor: nextCursor })).toEqual([a]);
    expect(await get('/v1/dead-letters', { query: { status: 'open' } })).toMatchObject({
      status: 400,
      json: { detail: "status 'open' is unknown: allowed are awaiting_intervention, retried, acknowledged" },
    });
  });

  it.each(['999999', 'retry', '0'])('dead letter %j does not exist', async (id) => {
    expect(await get(`/v1/dead-letters/${id}`)).toMatchObject({ status: 404, json: { code: 'dead_letter_not_found' } });
    for (const path of ['retry', 'acknowledge'])
      expect(await post(`/v1/dead-letters/${id}/${path}`)).toMatchObject({ status: 404, json: { code: 'dead_letter_not_found' } });
  });
});

describe('POST /v1/dead-letters/{id}/retry', () => {
  it('runs the input that failed once more, in the same run, and only once', async () => {
    const [id] = await plantDeadLetters('job');
    const reply = await post(`/v1/dead-letters/${id}/retry`);
    expect(reply).toMatchObject({ status: 202, json: { queueEntryId: expect.stringMatching(/^\d+$/) } });
    expect(await audit()).toMatchObject([{ action: 'dead_letter.retry', target: id, name: 'ada', after: { isEdited: false } }]);
    expect(takePokes()).toEqual({ dispatcher: 1, manager: 1 });
    expect(await post(`/v1/dead-letters/${id}/retry`)).toMatchObject({ status: 409, json: { code: 'already_resolved' } });
    await engine.dispatch();
    await engine.deliver();
    const [second, first] = (await get('/v1/executions')).json.items;
    expect(second).toMatchObject({ state: 'completed', attempt: 2, input: { of: 'job' }, runId: first.runId, initiator: { name: 'ada' } });
    expect((await get(`/v1/dead-letters/${id}`)).json).toMatchObject({ status: 'retried', resolvedAt: START, resolvedBy: { name: 'ada' } });
  });

  it('with an edited input begins a new run', async () => {
    const [id] = await plantDeadLetters('job');
    await post(`/v1/dead-letters/${id}/retry`, { input: { mended: true } });
    await engine.dispatch();
    const [second, first] = (await get('/v1/executions')).json.items;
    expect(second).toMatchObject({ attempt: 1, input: { mended: true } });
    expect(second.runId).not.toBe(first.runId);
  });

  it('is refused once the manifest is gone, where it would wait for ever', async () => {
    const [id] = await plantDeadLetters('job');
    await engine.sync([{ externalId: 'other' }]);
    expect(await post(`/v1/dead-letters/${id}/retry`)).toMatchObject({ status: 409, json: { code: 'manifest_deleted' } });
    expect((await get(`/v1/dead-letters/${id}`)).json.status).toBe('awaiting_intervention');
    expect(await post(`/v1/dead-letters/${id}/acknowledge`)).toMatchObject({ status: 200 });
  });
});

describe('POST /v1/dead-letters/{id}/acknowledge', () => {
  it('puts it aside with a note and answers it', async () => {
    const [id] = await plantDeadLetters('job');
    expect(await post(`/v1/dead-letters/${id}/acknowledge`, { note: 'known outage' })).toMatchObject({
      status: 200,
      json: { id, status: 'acknowledged', resolvedAt: START, resolvedBy: { name: 'ada' }, resolutionNote: 'known outage' },
    });
    expect(await audit()).toMatchObject([{ action: 'dead_letter.acknowledge', target: id, name: 'ada', after: { note: 'known outage' } }]);
    expect(takePokes()).toEqual({ dispatcher: 1, manager: 1 });
    expect(await post(`/v1/dead-letters/${id}/acknowledge`)).toMatchObject({ status: 409, json: { code: 'already_resolved' } });
  });

  it.each([
    [{ note: 7 }, 'note must be text, got 7'],
    [{ note: ['x'] }, 'note must be text, got a list'],
    [{ note: 'x'.repeat(2_001) }, 'note has 2001 characters: at most 2000 are allowed'],
    [{ note: 'a\0b' }, 'note contains the character U+0000, which cannot be stored: leave it out'],
    [{ note: 'a\ud800' }, 'note contains half of a surrogate pair: cut text between characters'],
  ])('refuses a note that cannot be kept', async (body, detail) => {
    const [id] = await plantDeadLetters('job');
    expect(await post(`/v1/dead-letters/${id}/acknowledge`, body)).toMatchObject({
      status: 400,
      json: { code: 'invalid_request', detail },
    });
    expect((await get(`/v1/dead-letters/${id}`)).json.status).toBe('awaiting_intervention');
  });
});

describe('POST /v1/dead-letters/retry and /acknowledge', () => {
  it('resolve each by itself and tell what became of it, with one poke for all', async () => {
    const [a, b, c] = await plantDeadLetters('a', 'b', 'c');
    await post(`/v1/dead-letters/${b}/acknowledge`);
    takePokes();
    const reply = await post('/v1/dead-letters/retry', { ids: [a, b, '999999', c, a] });
    expect(reply.status).toBe(200);
    expect(reply.json).toEqual({
      items: [
        { id: a, outcome: 'retried' },
        { id: b, outcome: 'refused', code: 'already_resolved', detail: expect.any(String) },
        { id: '999999', outcome: 'refused', code: 'dead_letter_not_found', detail: expect.any(String) },
        { id: c, outcome: 'retried' },
      ],
    });
    expect(takePokes()).toEqual({ dispatcher: 1, manager: 1 });
    expect((await audit()).map(({ action, target }) => [action, target])).toEqual([
      ['dead_letter.acknowledge', b],
      ['dead_letter.retry', a],
      ['dead_letter.retry', c],
    ]);
    expect(await engine.dispatch()).toMatchObject({ admittedCount: 2 });
  });

  it('answer already_resolved when repeated, and poke nobody', async () => {
    const ids = await plantDeadLetters('a', 'b');
    await post('/v1/dead-letters/acknowledge', { ids, note: 'known outage' });
    takePokes();
    const { items } = (await post('/v1/dead-letters/acknowledge', { ids })).json;
    expect(items).toMatchObject(ids.map((id) => ({ id, outcome: 'refused', code: 'already_resolved' })));
    expect(takePokes()).toEqual({ dispatcher: 0, manager: 0 });
    const { items: letters } = (await get('/v1/dead-letters')).json;
    expect(letters).toMatchObject([{ resolutionNote: 'known outage' }, { resolutionNote: 'known outage' }]);
  });

  it('poke for what was resolved before the database was lost, and leave the rest to be asked for again', async () => {
    const [a, b] = await plantDeadLetters('a', 'b');
    let transactionCount = 0;
    const lost: Database = {
      ...engine.database,
      transaction: (work) =>
        ++transactionCount === 2 ? Promise.reject(new DatabaseError('connection_lost', 'gone')) : engine.database.transaction(work),
    };
    const body = JSON.stringify({ ids: [a, b] });
    const request = { method: 'POST', headers: { 'content-type': 'application/json' }, body };
    const reply = await ask(
      lost,
      '/v1/dead-letters/retry',
      request,
      createLogger('api', () => {}),
      engine.doorbell,
    );
    expect(reply).toMatchObject({ status: 503, json: { code: 'database_unavailable' } });
    expect(takePokes()).toEqual({ dispatcher: 1, manager: 1 });
    expect((await post('/v1/dead-letters/retry', { ids: [a, b] })).json.items).toMatchObject([
      { id: a, outcome: 'refused', code: 'already_resolved' },
      { id: b, outcome: 'retried' },
    ]);
  });

  it.each([
    [{}, 'ids must hold 1 to 200 ids of dead letters, got 0'],
    [{ ids: [] }, 'ids must hold 1 to 200 ids of dead letters, got 0'],
    [{ ids: Array.from({ length: 201 }, String) }, 'ids must hold 1 to 200 ids of dead letters, got 201'],
    [{ ids: '1' }, 'ids must be a list of texts, got "1"'],
    [{ ids: ['1', 2] }, 'ids must be a list of texts, got one with 2'],
  ])('refuse %j', async (body, detail) => {
    for (const path of ['retry', 'acknowledge'])
      expect(await post(`/v1/dead-letters/${path}`, body)).toMatchObject({ status: 400, json: { code: 'invalid_request', detail } });
  });
});
