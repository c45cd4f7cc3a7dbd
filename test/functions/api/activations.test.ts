import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { claimExecutions } from '../../../shared/executor/claim-executions.ts';
import type { Capability } from '../../../shared/model/dormant.ts';
import { child, parent } from '../../dormant/use-dormants.ts';
import { useOperations } from './use-operations.ts';

const { engine, get, post, takePokes } = useOperations();
const activations = [{ externalId: 'child', input: { asked: 1 } }];

async function begin(): Promise<Capability> {
  await engine.sync([parent, child]);
  await post('/v1/manifests/parent/trigger');
  await engine.dispatch();
  const ids = engine.doorbell.bells.splice(0).map(({ executionId }) => executionId);
  const leaseToken = randomUUID();
  await claimExecutions(engine.database, { ids, leaseToken, leaseSeconds: 45, requestId: 'r', logStream: 'test' });
  takePokes();
  return { executionId: String(ids[0]), leaseToken };
}

it('activates in the name of the running parent, answers per dependent and pokes the dispatcher', async () => {
  const capability = await begin();
  const reply = await post('/v1/activations', { ...capability, activations });
  expect(reply).toMatchObject({ status: 202, headers: { 'cache-control': 'no-store' } });
  expect(reply.json).toEqual({ results: [{ externalId: 'child', outcome: 'activated', queueEntryId: expect.any(String) }] });
  expect(takePokes()).toEqual({ dispatcher: 1, manager: 0 });
  expect((await get('/v1/queue')).json.items).toMatchObject([{ manifest: 'child', origin: 'activation' }]);
});

it('repeated as it was, it answers the same', async () => {
  const capability = await begin();
  const first = await post('/v1/activations', { ...capability, activations });
  expect(await post('/v1/activations', { ...capability, activations })).toMatchObject({ status: 202, json: first.json });
  expect(await post('/v1/activations', { ...capability, key: 'again', activations })).toMatchObject({
    status: 200,
    json: { results: [{ externalId: 'child', outcome: 'skipped', reason: 'already_queued' }] },
  });
});

it.each([
  ['what does not exist', { activations: [{ externalId: 'nobody' }] }, 400, 'invalid_activation', "'nobody' does not exist"],
  [
    'an input that cannot be stored',
    { activations: [{ externalId: 'child', input: 'a\0' }] },
    400,
    'invalid_input',
    "'child': it contains",
  ],
  ['another’s token', { leaseToken: randomUUID() }, 409, 'lease_lost', 'does not run under this lease'],
  ['a token that is no text', { leaseToken: 7 }, 400, 'invalid_request', 'leaseToken must be text'],
  ['a misspelt field', { actvations: [] }, 400, 'invalid_request', "fields that are unknown here: 'actvations'"],
  ['a number for a key', { key: '7' }, 400, 'invalid_request', "key '7' is not allowed"],
])('refuses %s as a problem, and queues nothing', async (_, change, status, code, detail) => {
  const capability = await begin();
  const reply = await post('/v1/activations', { ...capability, activations, ...change });
  expect(reply).toMatchObject({ status, json: { code, detail: expect.stringContaining(detail) } });
  expect((await get('/v1/queue')).json.items).toEqual([]);
  expect(takePokes()).toEqual({ dispatcher: 0, manager: 0 });
});

it('with the same key and another input it is a conflict', async () => {
  const capability = await begin();
  await post('/v1/activations', { ...capability, activations });
  const reply = await post('/v1/activations', { ...capability, activations: [{ externalId: 'child', input: { asked: 2 } }] });
  expect(reply).toMatchObject({ status: 409, json: { code: 'activation_key_reused' } });
});
