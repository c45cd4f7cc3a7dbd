import { randomInt } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { sql } from '../../shared/db/sql.ts';
import { cancelEntry } from '../../shared/operations/cancel-entry.ts';
import { cancelExecution } from '../../shared/operations/cancel-execution.ts';
import { changeGroup } from '../../shared/operations/change-group.ts';
import { acknowledgeDeadLetter, retryDeadLetter } from '../../shared/operations/resolve-dead-letter.ts';
import { disableManifest, enableManifest } from '../../shared/operations/switch-manifest.ts';
import { trigger } from '../../shared/operations/trigger.ts';
import { checkInvariants } from '../support/check-invariants.ts';
import { beginStorm, calmDown } from './storm.ts';
import { type Declared, following, minuteAfterEnd, none, useWorld } from './use-world.ts';

const STORM_MS = 8_000;

const world = useWorld();
const often = (intervalSeconds: number) => ({ type: 'interval' as const, intervalSeconds, anchor: 'occurrence' as const });

/** Chains, a diamond, a fan, over groups that may only lead forward. Ids are in no order that a lock could rely on by luck: children are created before parents and after. */
const stated: Declared[] = [
  { externalId: 'fast', schedule: often(5), group: 'one' },
  { externalId: 'slow', schedule: often(20), group: 'one', misfire: { policy: 'fire_all', limit: 2 } },
  { externalId: 'rest', schedule: minuteAfterEnd, group: 'one' },
  { externalId: 'asked', schedule: none, group: 'one' },
  { externalId: 'both', schedule: following(['fast', 'slow']), group: 'two' },
  { externalId: 'either', schedule: following(['fast', 'asked'], 'any'), group: 'two' },
  { externalId: 'left', schedule: following('both'), group: 'two' },
  { externalId: 'right', schedule: following('both'), group: 'two' },
  { externalId: 'joined', schedule: following(['left', 'right', 'either']), group: 'three' },
  ...Array.from({ length: 5 }, (_, index) => ({ externalId: `fan-${index}`, schedule: following('fast'), group: 'three' })),
];
const declared = stated.map((one) => ({ maxAttempts: 2, backoff: { initialSeconds: 1, jitter: 0 }, ...one }));

/** Some are missing, and some edges are others: what one deployment prunes the next brings back. */
function redeclare(): Declared[] {
  const isGone = (id: string) => (id.startsWith('fan-') || id === 'joined') && randomInt(3) === 0;
  return declared
    .filter(({ externalId }) => !isGone(externalId))
    .map((one) => (one.externalId === 'either' && randomInt(2) ? { ...one, schedule: following(['asked', 'slow'], 'any') } : one))
    .toSorted(() => randomInt(3) - 1);
}

const pick = <One>(list: One[]): One | undefined => list[randomInt(Math.max(list.length, 1))];
const anyId = () => pick(declared)!.externalId;
const anyGroup = () => pick(['one', 'two', 'three'])!;
const anyRow = async (statement: ReturnType<typeof sql>) => String((await world.rows<{ id: number }>(statement))[0]?.id ?? 0);

/** What would starve all others if it were done all the time is mostly a glance at the database. */
const seldom = (deed: () => Promise<unknown>) => (randomInt(6) ? world.rows(sql`select`) : deed());

const deeds: Record<string, () => Promise<unknown>> = {
  deploy: () => world.sync(redeclare()),
  trigger: () => trigger(world.context, { externalId: pick(['fast', 'slow', 'asked', 'rest'])! }),
  'trigger with input': () =>
    trigger(world.context, { externalId: anyId(), input: { n: randomInt(9) }, delaySeconds: randomInt(2) * randomInt(30) }),
  disable: () => seldom(() => disableManifest(world.context, anyId())),
  enable: () => enableManifest(world.context, anyId()),
  'switch a group': () => seldom(() => changeGroup(world.context, anyGroup(), { isEnabled: randomInt(4) > 0 })),
  'limit a group': () => changeGroup(world.context, anyGroup(), { maxActiveJobs: pick([3, 5, null]) }),
  'cancel an entry': () =>
    seldom(async () =>
      cancelEntry(world.context, await anyRow(sql`select id from waybill.work_queue where status = 'queued' order by random() limit 1`)),
    ),
  'cancel a run': () =>
    seldom(async () =>
      cancelExecution(
        world.context,
        await anyRow(sql`select id from waybill.execution where finished_at is null order by random() limit 1`),
      ),
    ),
  'resolve a dead letter': async () => {
    const id = await anyRow(sql`select id from waybill.dead_letter where status = 'awaiting_intervention' order by random() limit 1`);
    await (randomInt(2) ? retryDeadLetter(world.context, id) : acknowledgeDeadLetter(world.context, id));
  },
};

it('everything at once, for a while: no error, no rule broken, no trigger lost, nothing forgotten', { timeout: 90_000 }, async () => {
  world.behaviour = async () => {
    await turn();
    if (randomInt(3) === 0) throw new Error('bad luck');
    return 'done';
  };
  await world.sync(declared);
  const { errors, counts, keepDoing } = beginStorm(STORM_MS);
  const execute = async (): Promise<unknown> => {
    const bells = world.doorbell.bells.splice(0, 1 + randomInt(4)).map(({ executionId }) => executionId);
    if (!bells.length) return world.rows(sql`select`);
    // Some bells come twice, and at the same time.
    return Promise.all(Array.from({ length: randomInt(5) === 0 ? 2 : 1 }, () => world.execute(bells)));
  };
  const audit = () => world.database.transaction((db) => checkInvariants(db, { kinds: ['always'] }));
  const passTime = async () => {
    world.clock.advance(0.25);
    await world.rows(sql`select`);
  };
  await Promise.all([
    ...Object.entries(deeds).map(([name, deed]) => keepDoing(name, deed)),
    ...[1, 2].map(() => keepDoing('manage', world.manage)),
    ...[1, 2, 3].map(() => keepDoing('dispatch', world.dispatch)),
    ...[1, 2, 3].map(() => keepDoing('execute', execute)),
    keepDoing('audit', audit),
    keepDoing('pass time', passTime),
  ]);
  expect(errors).toEqual([]);
  for (const name of [...Object.keys(deeds), 'manage', 'dispatch', 'execute']) expect(counts[name], name).toBeGreaterThan(0);
  expect((await world.rows(sql`select from waybill.execution where state = 'completed'`)).length).toBeGreaterThan(20);

  // Calm: everything is declared and switched on, every dead letter put aside, and the workflow does its work.
  world.behaviour = () => 'done';
  await world.sync(declared);
  for (const group of ['one', 'two', 'three']) await changeGroup(world.context, group, { isEnabled: true, maxActiveJobs: null });
  for (const { externalId } of declared) await enableManifest(world.context, externalId);
  const letters = await world.rows<{ id: string }>(sql`select id::text from waybill.dead_letter where status = 'awaiting_intervention'`);
  for (const { id } of letters) await acknowledgeDeadLetter(world.context, id);
  await calmDown(world);
  expect(await world.rows(sql`select from waybill.work_queue where status = 'queued'`)).toEqual([]);
  expect(await world.rows(sql`select from waybill.execution where finished_at is null`)).toEqual([]);
  expect(
    await world.rows(sql`
      select c.external_id from waybill.manifest c
       where c.deleted_at is null and c.schedule_type = 'dependent'
         and (select case c.dependency_mode when 'any' then bool_or(p.success_count > d.consumed_success_count)
                                            else bool_and(p.success_count > d.consumed_success_count) end
                from waybill.manifest_dependency d join waybill.manifest p on p.id = d.parent_id and p.deleted_at is null where d.child_id = c.id)`),
  ).toEqual([]);
  await world.database.transaction((db) => checkInvariants(db, { kinds: ['always', 'eventually'] }));
});
