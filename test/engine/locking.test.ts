import { beforeEach, describe, expect, it } from 'vitest';
import { type Database, type Db, readNow } from '../../shared/db/database.ts';
import { sql } from '../../shared/db/sql.ts';
import { claimQueuedWork } from '../../shared/dispatcher/cycle.ts';
import { createWorkQueueEntries } from '../../shared/manager/create-work-queue-entries.ts';
import { managerRound } from '../../shared/manager/cycle.ts';
import { type Decision, determineJobsToQueue } from '../../shared/manager/determine-jobs-to-queue.ts';
import { loadManifests } from '../../shared/manager/load-manifests.ts';
import type { ExecutionId } from '../../shared/model/ids.ts';
import { runWorkflow } from '../../shared/operations/run-workflow.ts';
import { disableManifest, enableManifest } from '../../shared/operations/switch-manifest.ts';
import { trigger } from '../../shared/operations/trigger.ts';
import { endRuns } from '../../shared/transitions/end-runs.ts';
import { pools } from '../support/engine.ts';
import { beforeCommit, beforeStatement, settlesOrWaits } from './interleave.ts';
import { type Declared, following, none, useWorld } from './use-world.ts';

const world = useWorld();
const family: Declared[] = [
  { externalId: 'parent', schedule: none },
  { externalId: 'child', schedule: following('parent') },
];
const contextOf = async (db: Db) => ({ db, now: await readNow(db), batchSize: 100 });
const lookOnce = () => world.database.transaction(async (db) => void (await managerRound({}, await contextOf(db))));

/** A run of this manifest that is admitted and whose bell nobody hears. */
async function admit(externalId: string): Promise<ExecutionId> {
  await trigger(world.context, { externalId });
  await world.dispatch();
  world.doorbell.bells.length = 0;
  return (await world.runs(externalId)).at(-1)!.id as ExecutionId;
}
const finish = (executionId: ExecutionId, database: Database = world.database) =>
  database.transaction((db) => endRuns(db, [{ executionId, leaseToken: null, isUnclaimed: true, state: 'completed' }]));

describe('the flags of a decision are read after its lock', () => {
  /** Looks at the child at the moment at which its parent's success is about to be committed; tells whether the child still runs for it. */
  async function lookDuringSuccess(look: (db: Db) => Promise<unknown>): Promise<'kept' | 'lost'> {
    await world.sync(family);
    const parent = await admit('parent');
    world.clock.advance(1);
    let looking: Promise<unknown> | undefined;
    await finish(
      parent,
      beforeCommit(world.database, async () => {
        looking = world.database.transaction(look);
        await settlesOrWaits(world.database, looking);
      }),
    );
    await looking;
    await world.drain();
    return (await world.runs('child')).length ? 'kept' : 'lost';
  }
  const isReady = sql`(select bool_and(p.success_count > d.consumed_success_count)
                         from waybill.manifest_dependency d join waybill.manifest p on p.id = d.parent_id where d.child_id = m.id)`;
  const decide = async (db: Db, rows: { isReady: boolean }[]) => {
    if (rows.some((row) => !row.isReady)) await db.query(sql`update waybill.manifest set next_due_at = null where external_id = 'child'`);
  };

  it('a subquery in the locking statement keeps its old snapshot and loses the success', async () => {
    const planted = async (db: Db) =>
      decide(
        db,
        await db.query(sql`
          select ${isReady} as "isReady" from waybill.manifest m where m.external_id = 'child' and m.next_due_at <= waybill.now() for no key update of m`),
      );
    expect(await lookDuringSuccess(planted)).toBe('lost');
  });

  it('a statement after the lock sees it', async () => {
    const right = async (db: Db) => {
      await db.query(sql`select from waybill.manifest m where m.external_id = 'child' for no key update`);
      await decide(
        db,
        await db.query(
          sql`select ${isReady} as "isReady" from waybill.manifest m where m.external_id = 'child' and m.next_due_at <= waybill.now()`,
        ),
      );
    };
    expect(await lookDuringSuccess(right)).toBe('kept');
  });

  it('the manager’s look does not lose it', async () => {
    expect(await lookDuringSuccess(async (db) => managerRound({}, await contextOf(db)))).toBe('kept');
  });
});

describe('the schedule is advanced before the entry is inserted', () => {
  /** Two managers have decided the same; the second writes when the first's entry has already run. */
  async function writeStaleDecision(write: (db: Db, decision: Decision) => Promise<unknown>): Promise<number> {
    await world.sync(family);
    await finish(await admit('parent'));
    const { decision } = await world.database.transaction(async (db) => {
      const context = await contextOf(db);
      return determineJobsToQueue(await loadManifests({ recovered: [] }, context), context);
    });
    expect(decision.queue).toHaveLength(1);
    world.clock.advance(1);
    await world.drain();
    await world.database.transaction((db) => write(db, decision));
    await world.drain();
    return (await world.runs('child')).length;
  }

  it('inserted before, a second manager’s entry runs once more for one success', async () => {
    const planted = async (db: Db, { queue: [row] }: Decision) => {
      await db.query(sql`
        insert into waybill.work_queue (workflow_name, manifest_id, group_id, origin, initiator_type)
        select workflow_name, id, group_id, 'dependency', 'dependency' from waybill.manifest where id = ${row!.manifestId} on conflict do nothing`);
      await db.query(sql`update waybill.manifest set next_due_at = null where id = ${row!.manifestId} and next_due_at = ${row!.seenDueAt}`);
    };
    expect(await writeStaleDecision(planted)).toBe(2);
  });

  it('advanced before, it finds that the other was first', async () => {
    expect(await writeStaleDecision(async (db, decision) => createWorkQueueEntries({ decision }, await contextOf(db)))).toBe(1);
  });
});

describe('locks leave room for those who only refer to the row', () => {
  /** Whether somebody can refer to the row while it is locked. */
  async function refer(
    hold: (database: Database) => Promise<unknown>,
    reference: (db: Db) => Promise<unknown>,
  ): Promise<'passes' | 'waits'> {
    let answer: 'passes' | 'waits' = 'passes';
    const holding = beforeCommit(world.database, async () => {
      const referring = world.database.transaction(async (db) => {
        await db.query(sql`set local lock_timeout = '300ms'`);
        await reference(db);
      });
      await referring.catch((error: { code: string }) => {
        if (error.code !== '55P03') throw error;
        answer = 'waits';
      });
    });
    await hold(holding);
    return answer;
  }
  const newEdge = (db: Db) =>
    db.query(sql`
      insert into waybill.manifest_dependency (child_id, parent_id)
      select c.id, p.id from waybill.manifest c, waybill.manifest p where c.external_id = 'other' and p.external_id = 'parent'`);
  const newEntry = (db: Db) =>
    runWorkflow({ ...world.context, database: { ...world.database, transaction: (work) => work(db) } }, { workflow: 'work' });
  beforeEach(() =>
    world.sync([...family, { externalId: 'other', schedule: none }, { externalId: 'adhoc', schedule: none, group: 'work' }]),
  );

  it('a plain for update of a manifest makes the writer of an edge wait', async () => {
    const planted = (database: Database) =>
      database.transaction((db) => db.query(sql`select from waybill.manifest where external_id = 'parent' for update`));
    expect(await refer(planted, newEdge)).toBe('waits');
  });

  it('the end of a run lets the writer of an edge pass', async () => {
    const parent = await admit('parent');
    expect(await refer((database) => finish(parent, database), newEdge)).toBe('passes');
  });

  it('a plain for update of a group makes an ad-hoc run wait', async () => {
    const planted = (database: Database) =>
      database.transaction((db) => db.query(sql`select from waybill.manifest_group where name = 'work' for update`));
    expect(await refer(planted, newEntry)).toBe('waits');
  });

  it('a claim lets an ad-hoc run pass', async () => {
    await trigger(world.context, { externalId: 'adhoc' });
    const claim = async (database: Database) => expect((await claimQueuedWork(database, { pools, limit: 10 })).admitted).toHaveLength(1);
    expect(await refer(claim, newEntry)).toBe('passes');
  });
});

describe('a deployment loses nothing, whichever two of its statements something comes between', () => {
  const deploy = async (database: Database, manifests: Declared[]) => {
    const real = world.database;
    world.database = database;
    try {
      return await world.sync(manifests);
    } finally {
      world.database = real;
    }
  };

  /** Repeats the scene once per statement of the deployment, until the deployment is over before its turn comes. */
  async function forEveryStatement(scene: (index: number) => Promise<{ hasInterrupted: boolean }>): Promise<void> {
    for (let index = 0; ; index++) {
      await world.empty();
      const { hasInterrupted } = await scene(index);
      if (!hasInterrupted) return expect(index).toBeGreaterThan(10);
    }
  }

  /** Starts the work just before the given statement, goes on when it is done or waits, and lets it commit once the deployment is over or waits for it. */
  async function interrupt(
    index: number,
    manifests: Declared[],
    work: (database: Database) => Promise<unknown>,
    meanwhile = async () => {},
  ) {
    const released = Promise.withResolvers<void>();
    let working: Promise<unknown> | undefined;
    const database = beforeStatement(world.database, index, async () => {
      const isReady = Promise.withResolvers<void>();
      working = work(
        beforeCommit(world.database, async () => {
          isReady.resolve();
          await released.promise;
        }),
      );
      await settlesOrWaits(world.database, isReady.promise);
    });
    const deploying = deploy(database, manifests);
    if ((await settlesOrWaits(world.database, deploying)) === 'settled') await meanwhile();
    released.resolve();
    await deploying;
    await working;
    return { hasInterrupted: database.hasInterrupted() };
  }

  it('a parent’s success, while an edge to that parent is written', { timeout: 60_000 }, async () => {
    await forEveryStatement(async (index) => {
      await world.sync([family[0]!, { externalId: 'child', schedule: none }]);
      const parent = await admit('parent');
      const scene = await interrupt(index, family, (database) => finish(parent, database), lookOnce);
      if (!scene.hasInterrupted) await finish(parent);
      await world.drain();
      expect(await world.runs('child'), `before statement ${index}`).toHaveLength(1);
      return scene;
    });
  });

  it('the last run of a manifest that is declared again', { timeout: 60_000 }, async () => {
    await forEveryStatement(async (index) => {
      await world.sync(family);
      const last = await admit('parent');
      await world.sync([{ externalId: 'other', schedule: none }]);
      const scene = await interrupt(index, family, (database) => finish(last, database));
      if (!scene.hasInterrupted) await finish(last);
      expect(await world.manifest('parent'), `before statement ${index}`).toMatchObject({ deleted_at: null, is_enabled: true });
      await trigger(world.context, { externalId: 'parent' });
      await world.drain();
      expect((await world.runs('child')).at(-1), `before statement ${index}`).toMatchObject({ state: 'completed' });
      return scene;
    });
  });

  it('somebody who disables a parent that the deployment states as enabled', { timeout: 60_000 }, async () => {
    await forEveryStatement(async (index) => {
      const stated = family.map((one) => ({ ...one, isEnabled: true }));
      await world.sync(stated);
      await finish(await admit('parent'));
      const disable = async (database: Database) => {
        await disableManifest({ ...world.context, database: world.database }, 'parent');
        await lookOnce();
        await database.transaction(async () => {});
      };
      const scene = await interrupt(index, [...stated, { externalId: 'other', schedule: none }], disable);
      await world.drain();
      const { is_enabled } = await world.manifest('parent');
      expect((await world.runs('child')).length, `before statement ${index}`).toBe(is_enabled ? 1 : 0);
      return scene;
    });
  });
});

describe('a switch', () => {
  it('of a parent to which an edge was just written copes with whoever disables the new child, whichever two statements that comes between', async () => {
    for (let index = 1, isOver = false; !isOver; index++) {
      await world.empty();
      await world.sync([
        { externalId: 'parent', schedule: none },
        { externalId: 'child', schedule: none },
      ]);
      await disableManifest(world.context, 'parent');
      // The deployment holds the parent until the switch waits for it: the switch has then already chosen the children that it locks.
      let enabling: Promise<void> | undefined;
      let disabling: Promise<void> | undefined;
      const disabled = Promise.withResolvers<void>();
      const database = beforeStatement(world.database, index, async () => {
        const isReady = Promise.withResolvers<void>();
        const paused = beforeCommit(world.database, async () => {
          isReady.resolve();
          await disabled.promise;
        });
        disabling = disableManifest({ ...world.context, database: paused }, 'child');
        await settlesOrWaits(world.database, isReady.promise);
      });
      const real = world.database;
      world.database = beforeCommit(real, async () => {
        world.clock.advance(1);
        enabling = enableManifest({ ...world.context, database }, 'parent');
        await settlesOrWaits(real, enabling);
      });
      await world.sync(family).finally(() => {
        world.database = real;
      });
      await settlesOrWaits(world.database, enabling!);
      disabled.resolve();
      await enabling;
      await disabling;
      isOver = !database.hasInterrupted();
      expect(await world.manifest('parent'), `before statement ${index}`).toMatchObject({ is_enabled: true });
      expect(await world.manifest('child'), `before statement ${index}`).toMatchObject(
        isOver ? {} : { is_enabled: false, next_due_at: null },
      );
    }
  });
});
