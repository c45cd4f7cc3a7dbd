import { describe, expect, it } from 'vitest';
import { sql } from '../../../shared/db/sql.ts';
import { workflowNamed } from '../../support/engine.ts';
import { useOperations } from './use-operations.ts';

const { engine, get, post, audit, takePokes } = useOperations();
const none = { type: 'none' as const };

/** A manifest that was triggered and admitted, and whose bell waits to be delivered. */
async function startRun(input?: unknown): Promise<string> {
  await engine.sync([{ externalId: 'job', schedule: none }]);
  await post('/v1/manifests/job/trigger', input === undefined ? {} : { input });
  await engine.dispatch();
  takePokes();
  await engine.database.query(sql`truncate waybill.audit_event`);
  return String(engine.doorbell.bells.at(-1)!.executionId);
}

describe('POST /v1/executions/{id}/cancel', () => {
  it('cancels what nobody has started, at once, and is refused when repeated', async () => {
    const id = await startRun();
    expect(await post(`/v1/executions/${id}/cancel`)).toMatchObject({ status: 200, json: { outcome: 'cancelled' } });
    expect((await get(`/v1/executions/${id}`)).json).toMatchObject({ state: 'cancelled' });
    expect(await audit()).toMatchObject([{ action: 'execution.cancel', target: id, name: 'ada' }]);
    expect(takePokes()).toEqual({ dispatcher: 1, manager: 1 });
    expect(await post(`/v1/executions/${id}/cancel`)).toMatchObject({ status: 409, json: { code: 'already_finished' } });
    expect(await audit()).toHaveLength(1);
  });

  it('asks a running one to stop, as often as it is told', async () => {
    const id = await startRun();
    const replies: unknown[] = [];
    await engine.deliver([
      workflowNamed('work', async () => {
        for (let time = 0; time < 2; time++) replies.push(await post(`/v1/executions/${id}/cancel`));
        throw new Error('stopped');
      }),
    ]);
    expect(replies).toMatchObject([
      { status: 202, json: { outcome: 'requested' } },
      { status: 202, json: { outcome: 'requested' } },
    ]);
    expect((await get(`/v1/executions/${id}`)).json).toMatchObject({ state: 'cancelled' });
  });

  it.each(['999999', 'abc', '99999999999999999999', '1 or 1=1'])('execution %j does not exist', async (id) => {
    for (const path of ['cancel', 'rerun', 'resume'])
      expect(await post(`/v1/executions/${id}/${path}`)).toMatchObject({ status: 404, json: { code: 'execution_not_found' } });
  });
});

describe('POST /v1/executions/{id}/rerun', () => {
  it('queues the same input as a new run, and is refused while that is queued', async () => {
    const id = await startRun({ day: 1 });
    await engine.deliver();
    takePokes();
    const reply = await post(`/v1/executions/${id}/rerun`);
    expect(reply).toMatchObject({ status: 202, json: { queueEntryId: expect.stringMatching(/^\d+$/) } });
    expect(await audit()).toMatchObject([{ action: 'execution.rerun', target: id, name: 'ada', after: reply.json }]);
    expect(takePokes()).toEqual({ dispatcher: 1, manager: 0 });
    expect(await post(`/v1/executions/${id}/rerun`)).toMatchObject({ status: 409, json: { code: 'already_queued' } });
    await engine.dispatch();
    await engine.deliver();
    const { items } = (await get('/v1/executions', { query: { manifest: 'job' } })).json;
    expect(items).toMatchObject([
      { state: 'completed', input: { day: 1 }, origin: 'manual', initiator: { name: 'ada' } },
      { id, input: { day: 1 } },
    ]);
    expect(items[0].runId).not.toBe(items[1].runId);
  });

  it('is refused once the manifest is gone', async () => {
    const id = await startRun();
    await engine.deliver();
    await engine.sync([{ externalId: 'other' }]);
    expect(await post(`/v1/executions/${id}/rerun`)).toMatchObject({ status: 409, json: { code: 'manifest_deleted' } });
  });
});
