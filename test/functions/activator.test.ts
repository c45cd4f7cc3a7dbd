import { randomUUID } from 'node:crypto';
import type { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { beforeEach, describe, expect, it } from 'vitest';
import { answerActivation } from '../../functions/activator/handler.ts';
import { createActivationClient } from '../../shared/client/activation-client.ts';
import type { Database } from '../../shared/db/database.ts';
import { type ActivationAnswer, InvalidActivationError } from '../../shared/model/dormant.ts';
import { createLogger } from '../../shared/observability/log.ts';
import { child, parent, useDormants } from '../dormant/use-dormants.ts';

const world = useDormants();
const lines: string[] = [];
const log = createLogger('activator', (line) => lines.push(line));
const one = [{ externalId: 'child', input: { password: 'hunter2-hunter2' } }];
const answer = (event: unknown, database: Database = world.database): Promise<ActivationAnswer> =>
  answerActivation(event, { database, doorbell: world.doorbell, log });

beforeEach(async () => {
  lines.length = 0;
  await world.sync([parent, child]);
});

describe('the activator', () => {
  it('answers with the results, rings the dispatcher and logs whose and how many, but neither token nor input', async () => {
    const capability = await world.begin();
    expect(await answer({ ...capability, key: 'k', activations: one })).toEqual({
      ok: true,
      results: [{ externalId: 'child', outcome: 'activated', queueEntryId: expect.any(String) }],
    });
    expect(world.doorbell.dispatcherPokes).toBe(1);
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { level: 'info', message: 'activations answered', executionId: capability.executionId, activatedCount: 1, skippedCount: 0 },
    ]);
    expect(lines.join()).not.toContain(capability.leaseToken);
    expect(lines.join()).not.toContain('hunter2');
  });

  it('answers a refusal as data, so that an asynchronous invocation is not retried, and logs its code alone', async () => {
    const capability = await world.begin();
    expect(await answer({ ...capability, activations: [{ externalId: 'nobody', input: 'hunter2-hunter2' }] })).toEqual({
      ok: false,
      code: 'invalid_activation',
      message: expect.stringContaining("'nobody' does not exist"),
      externalIds: ['nobody'],
    });
    expect(await answer({ ...capability, leaseToken: randomUUID(), activations: one })).toMatchObject({ ok: false, code: 'lease_lost' });
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      { level: 'warn', source: 'activator', message: 'activations were refused', code: 'invalid_activation' },
      { level: 'warn', source: 'activator', message: 'activations were refused', code: 'lease_lost' },
    ]);
  });

  it.each([
    ['no object', null, 'the request must be an object, got null'],
    ['a list', [], 'the request must be an object, got a list'],
    ['nothing to activate', { executionId: '1', leaseToken: 't' }, 'activations must be a list of { externalId, input }, got nothing'],
    [
      'an id that is a number',
      { executionId: 1, leaseToken: 't', activations: [] },
      'executionId must be text, got a value of type number',
    ],
    ['no token', { executionId: '1', activations: [] }, 'leaseToken must be text, got nothing'],
    [
      'a key that is no text',
      { executionId: '1', leaseToken: 't', key: 7, activations: [] },
      'key must be text, got a value of type number',
    ],
    [
      'a misspelt field',
      { executionId: '1', leaseToken: 't', kee: 'k', activations: [] },
      "the request has the field 'kee', which is unknown here",
    ],
    ['an item that is no object', { executionId: '1', leaseToken: 't', activations: ['child'] }, 'activations[0] must be an object'],
    [
      'an item without id',
      { executionId: '1', leaseToken: 't', activations: [{ input: 1 }] },
      'activations[0].externalId must be text, got nothing',
    ],
    [
      'an item with a misspelt field',
      { executionId: '1', leaseToken: 't', activations: [{ externalId: 'a', inptu: 1 }] },
      "activations[0] has the field 'inptu'",
    ],
  ])('refuses an event with %s', async (_, event, message) => {
    expect(await answer(event)).toMatchObject({ ok: false, code: 'invalid_request', message: expect.stringContaining(message) });
  });

  it('fails when the database fails, so that an asynchronous invocation is tried again', async () => {
    const capability = await world.begin();
    const broken: Database = { ...world.database, transaction: () => Promise.reject(new Error('out of memory')) };
    await expect(answer({ ...capability, activations: one }, broken)).rejects.toThrow('out of memory');
  });
});

describe('the client of other functions', () => {
  const sent: { FunctionName?: string; event: unknown }[] = [];
  /** Stands for Lambda: invokes the activator with what the wire would carry. */
  const lambda = {
    send: async ({ input: { FunctionName, Payload } }: InvokeCommand) => {
      const event = JSON.parse(Buffer.from(Payload as Uint8Array).toString());
      sent.push({ FunctionName, event });
      const text = JSON.stringify(await answer(event));
      return { StatusCode: 200, Payload: Object.assign(Buffer.from(text), { transformToString: () => text }) };
    },
  } as unknown as Pick<LambdaClient, 'send'>;
  const client = createActivationClient({ functionName: 'jobs-activator', lambda });
  beforeEach(() => {
    sent.length = 0;
  });

  it('activates one or many by the activator’s name', async () => {
    const capability = await world.begin();
    expect(await client.activate({ ...capability, key: 'k', externalId: 'child', input: { a: 1 } })).toMatchObject({
      outcome: 'activated',
    });
    expect(await client.activateMany({ ...capability, key: 'k2', activations: [{ externalId: 'child' }] })).toEqual([
      { externalId: 'child', outcome: 'skipped', reason: 'already_queued' },
    ]);
    expect(sent).toEqual([
      { FunctionName: 'jobs-activator', event: { ...capability, key: 'k', activations: [{ externalId: 'child', input: { a: 1 } }] } },
      { FunctionName: 'jobs-activator', event: { ...capability, key: 'k2', activations: [{ externalId: 'child' }] } },
    ]);
  });

  it('raises what the workflow itself would have raised', async () => {
    const capability = await world.begin();
    const unknown = client.activate({ ...capability, externalId: 'nobody' });
    await expect(unknown).rejects.toBeInstanceOf(InvalidActivationError);
    await expect(unknown).rejects.toMatchObject({ code: 'invalid_activation', externalIds: ['nobody'] });
    const lost = client.activate({ ...capability, leaseToken: randomUUID(), externalId: 'child' });
    await expect(lost).rejects.toMatchObject({ name: 'ConflictError', code: 'lease_lost' });
    const misnamed = client.activate({ ...capability, key: '1', externalId: 'child' });
    await expect(misnamed).rejects.toMatchObject({ name: 'InvalidInputError', code: 'invalid_request' });
  });

  it('says that a failed activator may be asked again with the same key', async () => {
    const failing = { send: async () => ({ FunctionError: 'Unhandled', Payload: undefined }) } as unknown as Pick<LambdaClient, 'send'>;
    const asking = createActivationClient({ functionName: 'x', lambda: failing }).activate({
      executionId: '1',
      leaseToken: 't',
      externalId: 'a',
    });
    await expect(asking).rejects.toMatchObject({ code: 'activator_failed', retryable: true });
  });

  it('refuses what no invocation could carry before it sends anything', async () => {
    const activations = Array.from({ length: 7 }, (_, index) => ({ externalId: `child-${index}`, input: 'x'.repeat(1024 * 1024 - 100) }));
    await expect(client.activateMany({ executionId: '1', leaseToken: 't', activations })).rejects.toThrow(/an invocation takes 6291456/);
    await expect(client.activate({ executionId: '1', leaseToken: 't', externalId: 'a', input: 1n })).rejects.toThrow("'a': it is not JSON");
    expect(sent).toEqual([]);
  });
});
