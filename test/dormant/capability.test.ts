import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { type Capability, InvalidActivationError } from '../../shared/model/dormant.ts';
import { runWorkflow } from '../../shared/operations/run-workflow.ts';
import { child, parent, useDormants } from './use-dormants.ts';

const world = useDormants();
const one = [{ externalId: 'child', input: { asked: 1 } }];
const activated = { externalId: 'child', outcome: 'activated', queueEntryId: expect.stringMatching(/^[1-9][0-9]*$/) };

beforeEach(() => world.sync([parent, child]));

describe('a capability', () => {
  const lost = { code: 'lease_lost' };

  it.each([
    ['the token of nobody', (capability: Capability) => ({ ...capability, leaseToken: randomUUID() })],
    ['a token that is none', (capability: Capability) => ({ ...capability, leaseToken: "' or true --" })],
    ['another execution', (capability: Capability) => ({ ...capability, executionId: String(Number(capability.executionId) + 1) })],
    ['an execution that is none', (capability: Capability) => ({ ...capability, executionId: 'x' })],
  ])('with %s is worth nothing', async (_, forge) => {
    const capability = await world.begin();
    await expect(world.activate(forge(capability), one)).rejects.toMatchObject(lost);
    await world.expectNothing(capability);
  });

  it.each(['completed', 'failed', 'cancelled'] as const)('is worth nothing once the run has ended as %s', async (state) => {
    const capability = await world.begin();
    await world.end(capability, state);
    await expect(world.activate(capability, one)).rejects.toMatchObject(lost);
    await world.expectNothing();
  });

  it('is worth nothing once the lease has run out, before anybody has noticed', async () => {
    const capability = await world.begin();
    world.clock.advance(46);
    await expect(world.activate(capability, one)).rejects.toMatchObject(lost);
    await world.expectNothing(capability);
  });

  it('is worth nothing after the run was taken over by a later attempt', async () => {
    const capability = await world.begin();
    world.clock.advance(46);
    await world.manage();
    world.clock.advance(60);
    const later = await world.claim();
    await expect(world.activate(capability, one)).rejects.toMatchObject(lost);
    expect(await world.activate(later, one)).toEqual([activated]);
  });

  it('does not tell a stranger whether an execution exists', async () => {
    const capability = await world.begin();
    const refusal = async (request: Capability) => (await world.activate(request, one).catch((error: Error) => error)) as Error;
    const wrongToken = await refusal({ ...capability, leaseToken: randomUUID() });
    const nobody = await refusal({ executionId: '999999', leaseToken: randomUUID() });
    expect(wrongToken.message.replace(capability.executionId, 'n')).toBe(nobody.message.replace('999999', 'n'));
  });
});

it('an ad-hoc run, outside of any schedule, is refused and not passed over in silence', async () => {
  await runWorkflow(world.context, { workflow: 'work' });
  const capability = await world.claim();
  const asking = world.activate(capability, one);
  await expect(asking).rejects.toBeInstanceOf(InvalidActivationError);
  await expect(asking).rejects.toMatchObject({
    code: 'outside_scheduled_run',
    message: expect.stringContaining(`execution '${capability.executionId}' runs workflow 'work' without a manifest`),
  });
  await world.expectNothing(capability);
});
