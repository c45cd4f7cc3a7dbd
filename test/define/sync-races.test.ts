import { expect, it } from 'vitest';
import { syncApp } from '../../shared/define/sync.ts';
import { disableManifest } from '../../shared/operations/switch-manifest.ts';
import { trigger } from '../../shared/operations/trigger.ts';
import { beforeStatement, settlesOrWaits } from '../engine/interleave.ts';
import { type Declared, following, none, useWorld } from '../engine/use-world.ts';
import { define } from './use-sync.ts';

const world = useWorld();
const family = (priority: number): Declared[] => [
  { externalId: 'parent', schedule: none, isEnabled: true, priority },
  { externalId: 'child', schedule: following('parent') },
];

it('whoever disables a parent that the deployment changes and states as enabled, whichever two of its statements that comes between, holds nothing for good', {
  timeout: 60_000,
}, async () => {
  for (let index = 0, isOver = false; !isOver; index++) {
    await world.empty();
    await world.sync(family(0));
    await trigger(world.context, { externalId: 'parent' });
    await world.dispatch();
    await world.deliver();
    let disabling: Promise<void> | undefined;
    const database = beforeStatement(world.database, index, async () => {
      disabling = disableManifest(world.context, 'parent');
      // The child is looked at while its parent is off, and held for that.
      if ((await settlesOrWaits(world.database, disabling)) === 'settled') await world.manage();
    });
    await syncApp(database, define(family(1)), 'hash');
    await disabling;
    isOver = !database.hasInterrupted();
    await world.drain();
    const { is_enabled: isEnabled } = await world.manifest('parent');
    expect((await world.runs('child')).length, `before statement ${index}`).toBe(isEnabled ? 1 : 0);
    if (isOver) expect(index).toBeGreaterThan(12);
  }
});
