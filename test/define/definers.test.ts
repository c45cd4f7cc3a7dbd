import { randomInt } from 'node:crypto';
import { expect, it } from 'vitest';
import { sql } from '../../shared/db/sql.ts';
import { patchManifest } from '../../shared/define/patch-manifest.ts';
import { putManifests } from '../../shared/define/put-manifests.ts';
import type { RuntimeManifest } from '../../shared/define/read-runtime-manifest.ts';
import { changeGroup } from '../../shared/operations/change-group.ts';
import { removeManifest } from '../../shared/operations/remove-manifest.ts';
import { trigger } from '../../shared/operations/trigger.ts';
import { beginStorm, calmDown } from '../engine/storm.ts';
import { type Declared, following, useWorld } from '../engine/use-world.ts';
import { checkInvariants } from '../support/check-invariants.ts';

const STORM_MS = 5_000;
const world = useWorld();

const pick = <One>(list: readonly One[]): One => list[randomInt(list.length)]!;
const often = { type: 'interval' as const, intervalSeconds: 1, anchor: 'occurrence' as const };
const groups = ['one', 'two'];

/** The app's: a root, and children that move between groups, change parents and come and go. */
const declared = (): Declared[] => [
  { externalId: 'root', schedule: often, group: 'one', priority: randomInt(3) },
  { externalId: 'second', schedule: often, group: 'one' },
  ...['a', 'b', 'c']
    .filter(() => randomInt(4) > 0)
    .map((externalId) => ({ externalId, schedule: following(pick(['root', 'second'])), group: pick(groups) })),
];

/** What is declared at run time: below the app's, and below each other. */
const asked = (): RuntimeManifest => ({
  externalId: `asked-${randomInt(4)}`,
  workflow: 'work',
  group: pick([...groups, 'three']),
  schedule: pick<RuntimeManifest['schedule']>([
    { type: 'none' },
    { type: 'interval', intervalSeconds: 1 },
    { type: 'dependent', dependsOn: pick(['root', 'second', 'a', `asked-${randomInt(4)}`]), mode: pick(['all', 'any']) },
  ]),
});
const anyId = () => pick(['root', 'second', 'a', 'b', 'c', ...[0, 1, 2, 3].map((index) => `asked-${index}`)]);

const deeds: Record<string, () => Promise<unknown>> = {
  deploy: () => world.sync(declared()),
  put: () => putManifests(world.context, [asked()]),
  'put many': async () => {
    const manifests = [asked(), asked(), asked()];
    return putManifests(world.context, [...new Map(manifests.map((one) => [one.externalId, one])).values()]);
  },
  patch: () =>
    patchManifest(world.context, anyId(), pick([{ priority: randomInt(9) }, { isEnabled: randomInt(3) > 0 }, { maxAttempts: null }])),
  remove: () => (randomInt(4) ? world.rows(sql`select`) : removeManifest(world.context, `asked-${randomInt(4)}`)),
  trigger: () => trigger(world.context, { externalId: anyId() }),
  'limit a group': () => changeGroup(world.context, pick(groups), { maxActiveJobs: pick([2, 4, null]), isEnabled: randomInt(4) > 0 }),
};

it('deployments, requests, patches and removals at once, while everything runs: no error, no rule broken, no trigger lost', {
  timeout: 60_000,
}, async () => {
  await world.sync(declared());
  const { errors, counts, keepDoing } = beginStorm(STORM_MS);
  // Slowly: whoever waits for a lock keeps the instant at which it began, and none of them may seem to have waited for half a minute.
  const passTime = async () => {
    world.clock.advance(0.02);
    await world.rows(sql`select`);
  };
  await Promise.all([
    ...Object.entries(deeds).flatMap(([name, deed]) => [keepDoing(name, deed), keepDoing(name, deed)]),
    ...[1, 2].flatMap(() => [
      keepDoing('manage', world.manage),
      keepDoing('dispatch', world.dispatch),
      keepDoing('deliver', () => world.deliver()),
    ]),
    keepDoing('audit', () => world.database.transaction((db) => checkInvariants(db, { kinds: ['always'] }))),
    keepDoing('pass time', passTime),
  ]);
  expect(errors).toEqual([]);
  for (const name of [...Object.keys(deeds), 'manage', 'dispatch', 'deliver']) expect(counts[name], name).toBeGreaterThan(0);
  // Whoever queues an entry has locked its manifest, and so has whoever moves it.
  expect(
    await world.rows(sql`
      select w.id from waybill.work_queue w join waybill.manifest m on m.id = w.manifest_id where w.status = 'queued' and w.group_id <> m.group_id`),
  ).toEqual([]);

  // Calm: every group admits, nothing changes any more, and what is ahead of its edges runs.
  for (const group of groups) await changeGroup(world.context, group, { isEnabled: true, maxActiveJobs: null });
  await calmDown(world);
  expect(await world.rows(sql`select from waybill.work_queue where status = 'queued'`)).toEqual([]);
  await world.database.transaction((db) => checkInvariants(db, { kinds: ['always', 'eventually'] }));
});
