import { expect, it } from 'vitest';
import { sql } from '../../shared/db/sql.ts';
import { createLogger } from '../../shared/observability/log.ts';
import { ask } from '../functions/api/use-api.ts';
import { fail, usePlans } from './use-plans.ts';

const world = usePlans();
const silent = createLogger('api', () => {});
const userArn = 'arn:aws:sts::123456789012:assumed-role/operators/ada';
const post = (path: string) => ask(world.database, path, { method: 'POST', userArn }, silent, world.doorbell);
const get = (path: string) => ask(world.database, path, {}, silent, world.doorbell);

it('POST /v1/executions/{id}/resume queues the plan to go on, says who asked, and pokes the dispatcher', async () => {
  await world.plan('plan', [['a'], ['b']]);
  world.acts.b = fail;
  await world.begin();
  const { id } = await world.latest();
  expect(await post(`/v1/executions/${id}/resume`)).toMatchObject({ status: 409, json: { code: 'still_running' } });
  await world.drain();
  world.acts = {};
  world.doorbell.dispatcherPokes = 0;
  await world.rows(sql`truncate waybill.audit_event`);
  const reply = await post(`/v1/executions/${id}/resume`);
  expect(reply).toMatchObject({ status: 202, json: { queueEntryId: expect.stringMatching(/^\d+$/) } });
  expect(world.doorbell.dispatcherPokes).toBe(1);
  expect(await world.rows(sql`select action, target, initiator_name, after from waybill.audit_event`)).toEqual([
    { action: 'execution.resume', target: String(id), initiator_name: 'ada', after: reply.json },
  ]);
  expect(await post(`/v1/executions/${id}/resume`)).toMatchObject({ status: 409, json: { code: 'already_queued' } });
  await world.drain();
  const resumed = await get(`/v1/executions/${(await world.latest()).id}`);
  expect(resumed.json).toMatchObject({ state: 'completed', runId: String(id), initiator: { name: 'ada' }, plan: { groupCount: 2 } });
});

it('POST /v1/executions/{id}/cancel answers at once for a plan that has not begun to work, and later for one that has', async () => {
  await world.plan('plan', [['a'], ['b']]);
  await world.begin();
  expect(await post(`/v1/executions/${(await world.latest()).id}/cancel`)).toMatchObject({ status: 200, json: { outcome: 'cancelled' } });
  await world.begin();
  const { id } = await world.latest();
  world.acts.a = async () => {
    expect(await post(`/v1/executions/${id}/cancel`)).toMatchObject({ status: 202, json: { outcome: 'requested' } });
  };
  await world.deliver();
  expect((await get(`/v1/executions/${id}`)).json).toMatchObject({ state: 'cancelled' });
});
