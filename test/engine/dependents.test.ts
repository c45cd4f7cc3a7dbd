import { describe, expect, it } from 'vitest';
import { sql } from '../../shared/db/sql.ts';
import type { ExecutionId } from '../../shared/model/ids.ts';
import { cancelEntry } from '../../shared/operations/cancel-entry.ts';
import { disableManifest, enableManifest } from '../../shared/operations/switch-manifest.ts';
import { trigger } from '../../shared/operations/trigger.ts';
import { type Declared, fail, following, none, useWorld } from './use-world.ts';

const world = useWorld();
const child = 'child';
const manual = (...ids: string[]): Declared[] => ids.map((externalId) => ({ externalId, schedule: none }));
const runCount = async (externalId: string) => (await world.runs(externalId)).length;

/** Runs these to their end, one after the other, and everything that follows from it. */
async function succeed(...ids: string[]) {
  for (const externalId of ids) {
    await trigger(world.context, { externalId });
    await world.drain();
  }
}

/** Declares a parent and its child, runs the parent and admits the child; gives the execution, which nobody else delivers. */
async function admitChild(): Promise<ExecutionId> {
  await world.sync([...manual('a'), { externalId: child, schedule: following('a') }]);
  await trigger(world.context, { externalId: 'a' });
  await world.cycle();
  await world.manage();
  await world.dispatch();
  const [bell] = world.doorbell.bells.splice(0);
  return bell!.executionId;
}

describe('a dependent', () => {
  it('runs at once when its parent has succeeded, and a chain runs to its end without the clock moving', async () => {
    await world.sync([...manual('a'), { externalId: 'b', schedule: following('a') }, { externalId: 'c', schedule: following('b') }]);
    await succeed('a');
    expect((await world.runs('c')).map(({ state, origin }) => [state, origin])).toEqual([['completed', 'dependency']]);
    expect(world.clock.now()).toEqual(world.at('00:00:00'));
  });

  it('is not fired by a parent that failed', async () => {
    await world.sync([
      { ...manual('a')[0]!, maxAttempts: 1 },
      { externalId: child, schedule: following('a') },
    ]);
    world.behaviour = fail;
    await succeed('a');
    expect(await runCount(child)).toBe(0);
  });

  it('is not fired by a parent that was cancelled', async () => {
    await world.sync([...manual('a'), { externalId: child, schedule: following('a') }]);
    const { queueEntryId } = await trigger(world.context, { externalId: 'a' });
    await cancelEntry(world.context, queueEntryId);
    await world.drain();
    expect(await runCount(child)).toBe(0);
  });

  it('of all its parents waits for each of them to succeed anew', async () => {
    await world.sync([...manual('a', 'b'), { externalId: child, schedule: following(['a', 'b']) }]);
    await succeed('a', 'a');
    expect(await runCount(child)).toBe(0);
    expect(await world.manifest(child)).toMatchObject({ last_skip_reason: 'not_ready', next_due_at: null });
    await succeed('b');
    expect(await runCount(child)).toBe(1);
    await succeed('b');
    expect(await runCount(child)).toBe(1);
    await succeed('a');
    expect(await runCount(child)).toBe(2);
  });

  it('of any of its parents runs for each of them', async () => {
    await world.sync([...manual('a', 'b'), { externalId: child, schedule: following(['a', 'b'], 'any') }]);
    await succeed('a', 'b', 'b');
    expect(await runCount(child)).toBe(3);
  });

  it('of a parent that never succeeded does not run', async () => {
    await world.sync([...manual('a', 'b'), { externalId: child, schedule: following(['a', 'b']) }]);
    await succeed('b', 'b', 'b');
    expect(await runCount(child)).toBe(0);
  });

  it('whose parent succeeds again while it runs runs once more', async () => {
    const executionId = await admitChild();
    await succeed('a');
    expect(await world.manifest(child)).toMatchObject({ last_skip_reason: 'running' });
    await world.execute([executionId]);
    await world.drain();
    expect(await world.runs(child)).toMatchObject([{ state: 'completed' }, { state: 'completed' }]);
  });

  it('runs once more for any number of successes while it runs', async () => {
    const executionId = await admitChild();
    await succeed('a', 'a', 'a');
    await world.execute([executionId]);
    await world.drain();
    expect(await runCount(child)).toBe(2);
  });

  it('carries the successes that there are at its admission, not those at its queueing', async () => {
    await world.sync([...manual('a'), { externalId: child, schedule: following('a'), group: 'held' }]);
    await world.database.query(sql`update waybill.manifest_group set max_active_jobs = 1 where name = 'held'`);
    await world.sync([
      ...manual('a'),
      { externalId: child, schedule: following('a'), group: 'held' },
      { externalId: 'busy', schedule: none, group: 'held' },
    ]);
    await trigger(world.context, { externalId: 'busy' });
    await world.dispatch();
    const [busy] = world.doorbell.bells.splice(0);
    await succeed('a', 'a', 'a');
    expect(await world.entries(child)).toMatchObject([{ status: 'queued' }]);
    await world.execute([busy!.executionId]);
    await world.drain();
    expect(await runCount(child)).toBe(1);
  });

  it('that fails keeps what it was for through its retries', async () => {
    await world.sync([...manual('a'), { externalId: child, schedule: following('a'), backoff: { jitter: 0 } }]);
    world.behaviour = ({ execution, attempt }) => (execution.manifest === child && attempt === 1 ? fail({} as never, null) : 'done');
    await trigger(world.context, { externalId: 'a' });
    await world.cycle();
    await world.cycle();
    expect(await world.entries(child)).toMatchObject([{ status: 'dispatched' }, { lane: 'retry', consumed_counts: expect.any(Object) }]);
    world.behaviour = () => 'done';
    await succeed('a');
    const runs = await world.rows(sql`
      select e.attempt, e.state, (select value from jsonb_each_text(e.consumed_counts)) as count
        from waybill.execution e join waybill.manifest m on m.id = e.manifest_id where m.external_id = ${child} order by e.id`);
    expect(runs).toEqual([
      { attempt: 1, state: 'failed', count: '1' },
      { attempt: 2, state: 'completed', count: '1' },
      { attempt: 1, state: 'completed', count: '2' },
    ]);
  });

  it('whose entry is cancelled has consumed the successes it was queued for, and no more', async () => {
    await world.sync([...manual('a'), { externalId: child, schedule: following('a') }]);
    await trigger(world.context, { externalId: 'a' });
    await world.cycle();
    await world.manage();
    await cancelEntry(world.context, String((await world.entries(child))[0]!.id));
    await world.drain();
    expect(await runCount(child)).toBe(0);
    await succeed('a');
    expect(await runCount(child)).toBe(1);
  });
});

describe('an edge', () => {
  it('from a disabled parent is unmet, until the parent is enabled', async () => {
    await world.sync([...manual('a', 'b'), { externalId: child, schedule: following(['a', 'b']) }]);
    await succeed('a');
    await disableManifest(world.context, 'a');
    await succeed('b');
    expect(await world.manifest(child)).toMatchObject({ last_skip_reason: 'parent_disabled', next_due_at: null });
    expect(await runCount(child)).toBe(0);
    await enableManifest(world.context, 'a');
    await world.drain();
    expect(await runCount(child)).toBe(1);
  });

  it('from a deleted parent is unmet for all, and passed over for any', async () => {
    await world.sync([
      ...manual('a', 'b'),
      { externalId: 'every', schedule: following(['a', 'b']) },
      { externalId: 'some', schedule: following(['a', 'b'], 'any') },
    ]);
    await world.database.query(sql`update waybill.manifest set deleted_at = waybill.now() where external_id = 'a'`);
    await succeed('b');
    expect(await runCount('every')).toBe(0);
    expect(await world.manifest('every')).toMatchObject({ last_skip_reason: 'parent_deleted', next_due_at: null });
    expect(await runCount('some')).toBe(1);
  });

  it.each([
    ['all', 'a parent that is gone', ['a'], 'parent_deleted'],
    ['all', 'only parents that are gone', ['a', 'b'], 'orphaned'],
    ['any', 'a parent that has to succeed yet', ['a'], 'not_ready'],
    ['any', 'only parents that are gone', ['a', 'b'], 'orphaned'],
  ] as const)('of a child that follows %s and has %s gives the reason', async (mode, _, gone, reason) => {
    await world.sync([...manual('a', 'b'), { externalId: child, schedule: following(['a', 'b'], mode) }]);
    await world.database.query(sql`update waybill.manifest set deleted_at = waybill.now() where external_id = any(${[...gone]}::text[])`);
    await world.manage();
    expect(await world.manifest(child)).toMatchObject({ last_skip_reason: reason });
  });

  it('that is new counts from the beginning for a child that never succeeded', async () => {
    await world.sync(manual('a', child));
    await succeed('a');
    await world.sync([...manual('a'), { externalId: child, schedule: following('a') }]);
    await world.drain();
    expect(await runCount(child)).toBe(1);
  });

  it('that is new counts from now for a child that has succeeded', async () => {
    await world.sync(manual('a', child));
    await succeed('a', child);
    await world.sync([...manual('a'), { externalId: child, schedule: following('a') }]);
    await world.drain();
    expect(await runCount(child)).toBe(1);
    await succeed('a');
    expect(await runCount(child)).toBe(2);
  });

  it('that is gone no longer holds its child back', async () => {
    await world.sync([...manual('a', 'b'), { externalId: child, schedule: following(['a', 'b']) }]);
    await succeed('a');
    await world.sync([...manual('a', 'b'), { externalId: child, schedule: following('a') }]);
    await world.drain();
    expect(await runCount(child)).toBe(1);
  });

  it('that was met is enough when all becomes any', async () => {
    await world.sync([...manual('a', 'b'), { externalId: child, schedule: following(['a', 'b']) }]);
    await succeed('a');
    await world.sync([...manual('a', 'b'), { externalId: child, schedule: following(['a', 'b'], 'any') }]);
    await world.drain();
    expect(await runCount(child)).toBe(1);
  });
});

describe('a dependent without edges', () => {
  it('never fires and is shown as orphaned', async () => {
    await world.sync([...manual('a'), { externalId: child, schedule: following('a') }]);
    await world.database.query(sql`delete from waybill.manifest_dependency`);
    await world.database.query(sql`update waybill.manifest set next_due_at = waybill.now() where external_id = ${child}`);
    await succeed('a');
    expect(await world.manifest(child)).toMatchObject({ last_skip_reason: 'orphaned', next_due_at: null });
    expect(await runCount(child)).toBe(0);
  });
});

describe('a cycle is refused', () => {
  it('with its path, and nothing of the deployment is kept', async () => {
    await world.sync(manual('a'));
    const circle = [
      { externalId: 'b', schedule: following('d'), group: 'one' },
      { externalId: 'c', schedule: following('b'), group: 'one' },
      { externalId: 'd', schedule: following('c'), group: 'one' },
    ];
    await expect(world.sync([...manual('a'), ...circle])).rejects.toThrow('circular dependency detected among manifests: b → c → d → b');
    expect(await world.rows(sql`select external_id from waybill.manifest`)).toEqual([{ external_id: 'a' }]);
  });

  it('between groups with their names, while edges inside a group are fine', async () => {
    const chain = (group: string) => [
      { externalId: 'a', schedule: none, group: 'extract' },
      { externalId: 'b', schedule: following('a'), group: 'load' },
      { externalId: 'c', schedule: following('b'), group },
    ];
    await expect(world.sync(chain('extract'))).rejects.toThrow('Circular dependency detected among manifest groups: [extract, load]');
    await world.sync(chain('load'));
    await succeed('a');
    expect(await runCount('c')).toBe(1);
  });
});
