import { beforeEach, describe, expect, it } from 'vitest';
import { disableManifest } from '../../shared/operations/switch-manifest.ts';
import { child, dormantBelow, parent, useDormants } from './use-dormants.ts';

const world = useDormants();
const one = [{ externalId: 'child', input: { asked: 1 } }];
const activated = { externalId: 'child', outcome: 'activated', queueEntryId: expect.stringMatching(/^[1-9][0-9]*$/) };
const skipped = (reason: string) => [{ externalId: 'child', outcome: 'skipped', reason }];
const queued = async () => (await world.entries('child')).filter(({ status }) => status === 'queued');

beforeEach(() => world.sync([parent, child]));

describe('asked again under the same key', () => {
  it('it gives what was recorded, queues nothing and pokes once more', async () => {
    const capability = await world.begin();
    const first = await world.activate(capability, one, { key: 'k' });
    await world.dispatch();
    await world.deliver();
    world.doorbell.dispatcherPokes = 0;
    expect(await world.activate(capability, one, { key: 'k' })).toEqual(first);
    expect(world.doorbell.dispatcherPokes).toBe(1);
    await world.end(capability);
    await world.drain();
    expect(await world.runs('child')).toHaveLength(1);
  });

  it('it gives a recorded skip, also when the reason is gone', async () => {
    await disableManifest(world.context, 'child');
    const capability = await world.begin();
    expect(await world.activate(capability, one)).toEqual(skipped('disabled'));
    await world.sync([parent, { ...child, isEnabled: true }]);
    expect(await world.activate(capability, one)).toEqual(skipped('disabled'));
    expect(await world.activate(capability, one, { key: 'again' })).toEqual([activated]);
  });

  it('it gives what was recorded to a later attempt of the same run', async () => {
    const capability = await world.begin();
    const first = await world.activate(capability, one, { key: 'k' });
    await world.dispatch();
    await world.deliver();
    await world.end(capability, 'failed');
    world.clock.advance(60);
    expect(await world.activate(await world.claim(), one, { key: 'k' })).toEqual(first);
    expect(await world.runs('child')).toHaveLength(1);
  });

  it('it is another matter in another run of the parent', async () => {
    const capability = await world.begin();
    await world.activate(capability, one, { key: 'k' });
    await world.end(capability);
    await world.drain();
    expect(await world.activate(await world.begin(), one, { key: 'k' })).toEqual([activated]);
    await world.drain();
    expect(await world.runs('child')).toHaveLength(2);
  });

  it('it gives what was recorded of a dependent that no longer exists', async () => {
    const capability = await world.begin();
    const first = await world.activate(capability, one);
    await world.dispatch();
    await world.deliver();
    await world.sync([parent]);
    expect(await world.activate(capability, one)).toEqual(first);
  });

  it('with more dependents than before it activates those that are new', async () => {
    await world.sync([parent, child, { externalId: 'sibling', schedule: dormantBelow('parent') }]);
    const capability = await world.begin();
    const first = await world.activate(capability, one);
    const second = await world.activate(capability, [{ externalId: 'sibling' }, ...one]);
    expect(second).toMatchObject([{ externalId: 'sibling', outcome: 'activated' }, first[0]!]);
    expect(await queued()).toHaveLength(1);
  });

  it('with its keys in another order it is the same input', async () => {
    const capability = await world.begin();
    const first = await world.activate(capability, [{ externalId: 'child', input: { a: 1, b: { c: [1], d: null } } }]);
    expect(await world.activate(capability, [{ externalId: 'child', input: { b: { d: null, c: [1] }, a: 1 } }])).toEqual(first);
  });

  it.each([[{ asked: 2 }], [undefined], [null]])('with input %j in place of the first it is refused whole', async (input) => {
    await world.sync([parent, child, { externalId: 'sibling', schedule: dormantBelow('parent') }]);
    const capability = await world.begin();
    await world.activate(capability, one, { key: 'k' });
    const asking = world.activate(capability, [{ externalId: 'sibling' }, { externalId: 'child', input }], { key: 'k' });
    await expect(asking).rejects.toMatchObject({ code: 'activation_key_reused', message: expect.stringContaining("'child'") });
    expect(await world.entries('sibling')).toEqual([]);
  });

  it('while the lease is lost it is refused, whatever was recorded', async () => {
    const capability = await world.begin();
    await world.activate(capability, one, { key: 'k' });
    world.clock.advance(46);
    await expect(world.activate(capability, one, { key: 'k' })).rejects.toMatchObject({ code: 'lease_lost' });
  });
});

describe('a request', () => {
  it('of nothing is answered with nothing', async () => {
    expect(await world.activate(await world.begin(), [])).toEqual([]);
  });

  it('that names a dependent twice is refused', async () => {
    const capability = await world.begin();
    await expect(world.activate(capability, [...one, ...one])).rejects.toThrow("'child' is named twice under one key");
    await world.expectNothing(capability);
  });

  it.each(['', '12', 'a#b', 'a/b', '-a', 'a b', 'é', 'x'.repeat(201)])('with the key %j is refused', async (key) => {
    await expect(world.activate(await world.begin(), one, { key })).rejects.toMatchObject({
      code: 'invalid_request',
      message: expect.stringContaining(`key '${key.slice(0, 100)}' is not allowed`),
    });
  });

  it.each([
    ['a big integer', { count: 1n }, 'it is not JSON'],
    ['NUL', { text: 'a\0b' }, 'it contains the character \\u0000'],
    ['a prototype', JSON.parse('{"deep":[{"__proto__":1}]}'), "it contains the key '__proto__'"],
    ['more than a mebibyte', 'x'.repeat(1024 * 1024), 'at most 1048576 are allowed'],
    ['what is nested too deep', JSON.parse('['.repeat(300) + ']'.repeat(300)), 'nested more than 200 levels'],
  ])('with an input that contains %s is refused with the dependent’s name', async (_, input, message) => {
    const capability = await world.begin();
    const asking = world.activate(capability, [{ externalId: 'child', input }]);
    await expect(asking).rejects.toMatchObject({
      code: 'invalid_input',
      message: expect.stringMatching(/^inputs cannot be stored: 'child': /),
    });
    await expect(asking).rejects.toThrow(message);
    await world.expectNothing(capability);
  });

  it('with an id that Postgres cannot hold is refused', async () => {
    await expect(world.activate(await world.begin(), [{ externalId: 'a\0b' }])).rejects.toThrow('"a\\u0000b" is no externalId');
  });
});
