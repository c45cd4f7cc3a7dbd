import { beforeEach, describe, expect, it } from 'vitest';
import { type Database, readNow } from '../../shared/db/database.ts';
import { sql } from '../../shared/db/sql.ts';
import type { GroupDefinition } from '../../shared/define/definition.ts';
import { syncApp } from '../../shared/define/sync.ts';
import { managerRound } from '../../shared/manager/cycle.ts';
import type { ExecutionId } from '../../shared/model/ids.ts';
import { cancelEntry } from '../../shared/operations/cancel-entry.ts';
import { cancelExecution } from '../../shared/operations/cancel-execution.ts';
import { changeGroup } from '../../shared/operations/change-group.ts';
import { acknowledgeDeadLetter, retryDeadLetter } from '../../shared/operations/resolve-dead-letter.ts';
import { disableManifest, enableManifest } from '../../shared/operations/switch-manifest.ts';
import { trigger } from '../../shared/operations/trigger.ts';
import { endRuns, type FinalState } from '../../shared/transitions/end-runs.ts';
import { beforeCommit, settlesOrWaits } from './interleave.ts';
import { type Declared, following, none, onceAt, useWorld } from './use-world.ts';

const world = useWorld();
const { at } = world;

/** Ends the hold, on the given database, so that the test can get between its statements and its commit. */
type End = (database: Database) => Promise<unknown>;

interface Hold {
  hold: string;
  reason: string | null;
  /** Brings the hold about, before the held manifest becomes due, and tells how it is ended. */
  begin(externalId: string): Promise<End>;
}

const on = (database: Database) => ({ ...world.context, database });
const declared = (changes: Partial<Declared> = {}): Declared[] => [
  { externalId: 'parent', schedule: none },
  { externalId: 'other', schedule: none },
  { externalId: 'child', schedule: following('parent'), maxAttempts: 1, group: 'held', ...changes },
  { externalId: 'once', schedule: onceAt('00:10:00'), maxAttempts: 1, group: 'held' },
];

function deploy(database: Database, manifests: Declared[], groups: GroupDefinition[] = [{ name: 'held' }]) {
  const definitions = manifests.map((manifest) => ({ workflow: 'work', input: {}, schedule: none, group: 'default', ...manifest }));
  const workflows = [{ name: 'work', pool: 'default' }];
  return syncApp(database, { name: 'test', workflows, groups: [{ name: 'default' }, ...groups], manifests: definitions }, 'hash');
}

/** Ends an admitted execution that nobody has started, as its executor would have. */
const finish = (database: Database, id: number, state: FinalState = 'completed') =>
  database.transaction((db) =>
    endRuns(db, [
      {
        executionId: id as ExecutionId,
        leaseToken: null,
        isUnclaimed: true,
        state,
        failure: state === 'failed' ? { code: 'thrown', message: 'no' } : undefined,
      },
    ]),
  );

async function admit(externalId: string, request: { input?: unknown } = { input: { earlier: true } }): Promise<number> {
  await trigger(world.context, { externalId, ...request });
  await world.dispatch();
  world.doorbell.bells.length = 0;
  return (await world.runs(externalId)).at(-1)!.id;
}

const whileRunning = (how: string, state: FinalState): Hold => ({
  hold: `its own run is going on, and ends ${how}`,
  reason: 'running',
  begin: async (externalId) => {
    const id = await admit(externalId);
    return (database) => finish(database, id, state);
  },
});

/** Holds that a dependent and a once have in common. */
const common: Hold[] = [
  whileRunning('well', 'completed'),
  whileRunning('cancelled', 'cancelled'),
  {
    hold: 'its own run is going on, and is cancelled before it starts',
    reason: 'running',
    begin: async (externalId) => {
      const id = await admit(externalId);
      return (database) => cancelExecution(on(database), String(id));
    },
  },
  {
    hold: 'an entry is queued, and is cancelled',
    reason: 'already_queued',
    begin: async (externalId) => {
      const { queueEntryId } = await trigger(world.context, { externalId, input: { earlier: true } });
      return (database) => cancelEntry(on(database), queueEntryId);
    },
  },
  {
    hold: 'an entry is queued, and runs',
    reason: 'already_queued',
    begin: async (externalId) => {
      await trigger(world.context, { externalId, input: { earlier: true } });
      return () => world.drain();
    },
  },
  {
    hold: 'a retry waits, and is cancelled',
    reason: 'already_queued',
    begin: async (externalId) => {
      await world.database.query(sql`update waybill.manifest set max_attempts = 3`);
      const id = await admit(externalId);
      await finish(world.database, id, 'failed');
      const retry = (await world.entries(externalId)).at(-1)!;
      return (database) => cancelEntry(on(database), String(retry.id));
    },
  },
  {
    hold: 'a dead letter awaits a person, who acknowledges it',
    reason: 'dead_letter',
    begin: async (externalId) => {
      await finish(world.database, await admit(externalId), 'failed');
      const { id } = await world.awaiting(externalId);
      return (database) => acknowledgeDeadLetter(on(database), id);
    },
  },
  {
    hold: 'a dead letter awaits a person, who retries it',
    reason: 'dead_letter',
    begin: async (externalId) => {
      await finish(world.database, await admit(externalId), 'failed');
      const { id } = await world.awaiting(externalId);
      return (database) => retryDeadLetter(on(database), id);
    },
  },
  {
    hold: 'it is disabled, and enabled by a person',
    reason: null,
    begin: async (externalId) => {
      await disableManifest(world.context, externalId);
      return (database) => enableManifest(on(database), externalId);
    },
  },
  {
    hold: 'it is disabled, and enabled by a deployment',
    reason: null,
    begin: async (externalId) => {
      await disableManifest(world.context, externalId);
      return (database) =>
        deploy(
          database,
          declared().map((one) => ({ ...one, isEnabled: true })),
        );
    },
  },
  {
    hold: 'its group is disabled, and enabled by a person',
    reason: 'group_disabled',
    begin: async () => {
      await changeGroup(world.context, 'held', { isEnabled: false });
      return (database) => changeGroup(on(database), 'held', { isEnabled: true });
    },
  },
  {
    hold: 'its group is disabled, and enabled by a deployment',
    reason: 'group_disabled',
    begin: async () => {
      await changeGroup(world.context, 'held', { isEnabled: false });
      return (database) => deploy(database, declared(), [{ name: 'held', isEnabled: true }]);
    },
  },
  {
    hold: 'its group is disabled, and it is moved to another',
    reason: 'group_disabled',
    begin: async () => {
      await changeGroup(world.context, 'held', { isEnabled: false });
      return (database) =>
        deploy(
          database,
          declared().map((one) => ({ ...one, group: 'default' })),
        );
    },
  },
  {
    hold: 'it is no longer declared while it runs, and declared again',
    reason: null,
    begin: async (externalId) => {
      const id = await admit(externalId);
      await deploy(
        world.database,
        declared().filter((one) => one.externalId !== externalId),
      );
      return async (database) => {
        await deploy(database, declared());
        await finish(world.database, id);
      };
    },
  },
];

const ofDependents: Hold[] = [
  {
    hold: 'its parent is disabled, and enabled by a person',
    reason: 'parent_disabled',
    begin: async () => {
      await disableManifest(world.context, 'parent');
      return (database) => enableManifest(on(database), 'parent');
    },
  },
  {
    hold: 'its parent is disabled, and enabled by a deployment',
    reason: 'parent_disabled',
    begin: async () => {
      await disableManifest(world.context, 'parent');
      return (database) =>
        deploy(
          database,
          declared().map((one) => ({ ...one, isEnabled: true })),
        );
    },
  },
  {
    hold: 'another parent has not succeeded yet, and does',
    reason: 'not_ready',
    begin: async () => {
      await deploy(world.database, declared({ schedule: following(['parent', 'other']) }));
      const id = await admit('other');
      return (database) => finish(database, id);
    },
  },
  {
    hold: 'another parent has not succeeded yet, and any of them becomes enough',
    reason: 'not_ready',
    begin: async () => {
      await deploy(world.database, declared({ schedule: following(['parent', 'other']) }));
      return (database) => deploy(database, declared({ schedule: following(['parent', 'other'], 'any') }));
    },
  },
  {
    hold: 'another parent has not succeeded yet, and its edge goes',
    reason: 'not_ready',
    begin: async () => {
      await deploy(world.database, declared({ schedule: following(['parent', 'other']) }));
      return (database) => deploy(database, declared());
    },
  },
  {
    hold: 'it is orphaned, and attached again',
    reason: null,
    begin: async () => {
      await world.database.query(sql`delete from waybill.manifest_dependency`);
      return (database) => deploy(database, declared());
    },
  },
];

const manifests = [
  {
    held: 'child',
    holds: [...common, ...ofDependents],
    /** The parent succeeds, without anybody else doing anything. */
    becomeDue: async () => {
      const [parent] = await world.runs('parent');
      await finish(world.database, parent!.id);
    },
    /** Not ahead of its edges any more: what its parents achieved was run for. */
    ranFor: sql`select from waybill.manifest_dependency d join waybill.manifest p on p.id = d.parent_id where d.consumed_success_count < p.success_count`,
  },
  {
    held: 'once',
    holds: common,
    becomeDue: async () => world.clock.set(at('00:10:00')),
    ranFor: sql`select from waybill.manifest where external_id = 'once' and next_occurrence_at is not null`,
  },
];

/** A round of the manager, without the bells it rings afterwards. */
const lookOnce = (andThen: () => Promise<void> = async () => {}) =>
  world.database.transaction(async (db) => {
    await managerRound({}, { db, now: await readNow(db), batchSize: 100 });
    await andThen();
  });

/** How the end of the hold and a manager's look may lie to each other. */
const interleavings: { when: string; run(end: End, held: string, reason: string | null): Promise<unknown> }[] = [
  {
    when: 'after a manager has looked and said why',
    run: async (end, held, reason) => {
      await world.manage();
      expect(await world.manifest(held)).toMatchObject({ next_due_at: null, ...(reason && { last_skip_reason: reason }) });
      await end(world.database);
    },
  },
  {
    when: 'while a manager that has looked is about to commit',
    run: async (end) => {
      const { promise: isCommitting, resolve: commit } = Promise.withResolvers<void>();
      const { promise: hasLooked, resolve: look } = Promise.withResolvers<void>();
      const managing = lookOnce(async () => {
        look();
        await isCommitting;
      });
      await hasLooked;
      const ending = end(world.database);
      await settlesOrWaits(world.database, ending);
      commit();
      await managing;
      await ending;
    },
  },
  { when: 'while a manager looks before the end is committed', run: (end) => end(beforeCommit(world.database, () => lookOnce())) },
];

beforeEach(async () => {
  await deploy(world.database, declared());
  await world.manage();
  await admit('parent');
});

describe.each(manifests)('$held', ({ held, holds, becomeDue, ranFor }) => {
  describe.each(holds.map((one) => [one.hold, one] as const))('runs once the hold is over: %s', (_, { begin, reason }) => {
    it.each(interleavings.map((one) => [one.when, one] as const))('%s', async (_, { run }) => {
      const end = await begin(held);
      await becomeDue();
      const before = await world.rows(sql`select from waybill.execution where state = 'completed'`);
      await run(end, held, reason);
      await world.drain();
      expect(await world.rows(ranFor)).toEqual([]);
      expect((await world.rows(sql`select from waybill.execution where state = 'completed'`)).length).toBeGreaterThan(before.length);
      expect((await world.runs(held)).at(-1)).toMatchObject({ state: 'completed' });
    });
  });
});
