import { describe, expect, it } from 'vitest';
import { dispatcherCycle } from '../../shared/dispatcher/cycle.ts';
import { trigger } from '../../shared/operations/trigger.ts';
import { usePlans } from '../plans/use-plans.ts';
import { pools, recordDoorbell } from '../support/engine.ts';
import { none } from './use-world.ts';

const world = usePlans();

/** Admits what is queued, but is killed before it has rung anybody. */
async function admitWithoutBell(): Promise<void> {
  const doorbell = { ...recordDoorbell(), ringExecutions: async () => [] };
  expect(await dispatcherCycle({ database: world.database, doorbell, pools })).toMatchObject({ admittedCount: 1, rungCount: 0 });
  expect(world.doorbell.bells).toEqual([]);
}

/** Long after its execution was created. */
async function wakeSleeper(): Promise<void> {
  await world.sync([{ externalId: 'job', schedule: none }]);
  world.behaviour = (context) => context.sleep('hour', { hours: 1 });
  await trigger(world.context, { externalId: 'job' });
  await world.dispatch();
  await world.deliver();
  world.clock.advance(3_600);
}

/** The same of a plan's second step, which was created with the plan. */
async function reachSecondStep(): Promise<void> {
  await world.plan('plan', [['first'], ['second']]);
  await world.begin();
  world.clock.advance(3_600);
  await world.deliver();
}

describe.each([
  ['a sleeper that was made to go on', wakeSleeper],
  ['a step whose turn has come', reachSecondStep],
])('%s', (_, prepare) => {
  it('is rung by the manager half a minute after its admission, not before', async () => {
    await prepare();
    await admitWithoutBell();
    world.clock.advance(29);
    await world.manage();
    expect(world.doorbell.bells).toEqual([]);
    world.clock.advance(2);
    await world.manage();
    expect(world.doorbell.bells).toHaveLength(1);
  });
});
