import { describe, expect, it } from 'vitest';
import { sql } from '../../shared/db/sql.ts';
import { syncApp } from '../../shared/define/sync.ts';
import { changeGroup } from '../../shared/operations/change-group.ts';
import { disableManifest } from '../../shared/operations/switch-manifest.ts';
import { trigger } from '../../shared/operations/trigger.ts';
import { everyMinute, fail, following, none, useWorld } from './use-world.ts';

const world = useWorld();
const { at } = world;
const job = 'job';
const switchGroup = (isEnabled: boolean, name = 'etl') => changeGroup(world.context, name, { isEnabled });

describe('a disabled group', () => {
  it('holds entries and triggers, and they run when it is enabled', async () => {
    await world.sync([
      { externalId: job, schedule: everyMinute, group: 'etl' },
      { externalId: 'manual', schedule: none, group: 'etl' },
    ]);
    await world.manage();
    await switchGroup(false);
    expect(await trigger(world.context, { externalId: 'manual' })).toMatchObject({ outcome: 'queued' });
    await world.drain();
    expect(await world.rows(sql`select from waybill.execution`)).toEqual([]);
    await switchGroup(true);
    await world.drain();
    expect(await world.runs(job)).toMatchObject([{ occurrence_at: at('00:00:00') }]);
    expect(await world.runs('manual')).toHaveLength(1);
  });

  it('lets timed ticks go, with the reason', async () => {
    await world.sync([{ externalId: job, schedule: everyMinute, group: 'etl' }]);
    await switchGroup(false);
    await world.drain();
    world.clock.advance(60);
    await world.drain();
    expect(await world.manifest(job)).toMatchObject({ last_skip_reason: 'group_disabled', skip_count: 2, next_due_at: at('00:02:00') });
    await switchGroup(true);
    await world.drain();
    expect(await world.runs(job)).toEqual([]);
  });

  it('cancels nothing: what runs ends, and its retry waits', async () => {
    await world.sync([{ externalId: job, schedule: none, group: 'etl' }]);
    await trigger(world.context, { externalId: job });
    await world.dispatch();
    await switchGroup(false);
    world.behaviour = fail;
    await world.deliver();
    world.clock.advance(600);
    await world.drain();
    expect(await world.runs(job)).toMatchObject([{ state: 'failed' }]);
    world.behaviour = () => 'better';
    await switchGroup(true);
    await world.drain();
    expect(await world.runs(job)).toMatchObject([{ state: 'failed' }, { state: 'completed', attempt: 2 }]);
  });

  it.each(['by an operator', 'by a deployment'])('that is enabled %s looks again at the dependents it held', async (who) => {
    const manifests = [
      { externalId: 'parent', schedule: none },
      { externalId: job, schedule: following('parent'), group: 'etl' },
    ];
    await world.sync(manifests);
    await switchGroup(false);
    await trigger(world.context, { externalId: 'parent' });
    await world.drain();
    expect(await world.manifest(job)).toMatchObject({ last_skip_reason: 'group_disabled', next_due_at: null });
    if (who === 'by an operator') await switchGroup(true);
    else {
      const definitions = manifests.map((manifest) => ({ workflow: 'work', input: {}, group: manifest.externalId, ...manifest }));
      const groups = [{ name: 'parent' }, { name: 'etl', isEnabled: true }];
      await syncApp(
        world.database,
        { name: 'test', workflows: [{ name: 'work', pool: 'default' }], groups, manifests: definitions },
        'hash',
      );
    }
    await world.drain();
    expect(await world.runs(job)).toMatchObject([{ state: 'completed' }]);
  });
});

describe('a disabled manifest', () => {
  it('rests, and an explicit trigger still runs', async () => {
    await world.sync([{ externalId: job, schedule: everyMinute }]);
    await disableManifest(world.context, job);
    await world.drain();
    world.clock.advance(600);
    await world.drain();
    expect(await world.runs(job)).toEqual([]);
    await trigger(world.context, { externalId: job });
    await world.drain();
    expect(await world.runs(job)).toMatchObject([{ origin: 'manual' }]);
    expect(await world.manifest(job)).toMatchObject({ next_due_at: null, skip_count: 0 });
  });

  it('has nothing cancelled: what was queued before runs, and is retried', async () => {
    await world.sync([{ externalId: job, schedule: everyMinute }]);
    await world.manage();
    await disableManifest(world.context, job);
    world.behaviour = ({ attempt }) => (attempt === 1 ? fail({} as never, null) : 'better');
    await world.drain();
    expect(await world.runs(job)).toMatchObject([{ state: 'failed' }, { state: 'completed' }]);
  });
});

describe('a group’s limit', () => {
  it('is kept while it is lowered, raised and lifted, and raising it pokes the dispatcher', async () => {
    await world.sync(Array.from({ length: 6 }, (_, index) => ({ externalId: `job-${index}`, schedule: none, group: 'etl' })));
    for (let index = 0; index < 6; index++) await trigger(world.context, { externalId: `job-${index}` });
    await changeGroup(world.context, 'etl', { maxActiveJobs: 2 });
    const pokes = world.doorbell.dispatcherPokes;
    expect(await world.dispatch()).toMatchObject({ admittedCount: 2 });
    await changeGroup(world.context, 'etl', { maxActiveJobs: 3 });
    expect(world.doorbell.dispatcherPokes).toBeGreaterThan(pokes);
    expect(await world.dispatch()).toMatchObject({ admittedCount: 1 });
    await changeGroup(world.context, 'etl', { maxActiveJobs: 1 });
    expect(await world.dispatch()).toMatchObject({ admittedCount: 0 });
    // Lowering a limit ends nothing that runs; back above what is live, the promise can be checked again.
    await changeGroup(world.context, 'etl', { maxActiveJobs: null });
    expect(await world.dispatch()).toMatchObject({ admittedCount: 3 });
  });

  it('counts the dependents and the retries of its manifests like everything else', async () => {
    await world.sync([
      { externalId: 'parent', schedule: none },
      { externalId: 'one', schedule: following('parent'), group: 'etl' },
      { externalId: 'two', schedule: following('parent'), group: 'etl' },
    ]);
    await changeGroup(world.context, 'etl', { maxActiveJobs: 1 });
    await trigger(world.context, { externalId: 'parent' });
    await world.cycle();
    await world.manage();
    expect(await world.dispatch()).toMatchObject({ admittedCount: 1 });
    await world.drain();
    expect(await world.runs('one')).toHaveLength(1);
    expect(await world.runs('two')).toHaveLength(1);
  });
});
