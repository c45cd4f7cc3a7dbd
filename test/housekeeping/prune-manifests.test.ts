import { describe, expect, it } from 'vitest';
import { lease } from '../operations/plant.ts';
import { daysAgo, failed, OLD, useHousekeeping } from './use-housekeeping.ts';

const { server, database, plant, run, left } = useHousekeeping('manifest', 'execution', 'dead_letter', 'work_queue');
const deleted = { deleted_at: OLD };

describe('a manifest that was deleted before the retention', () => {
  it('goes when nothing names it, and takes its edges, steps and backfills along', async () => {
    const parent = await plant.manifest('parent');
    const dependent = { schedule_type: 'dependent', dependency_mode: 'all' };
    const gone = await plant.manifest('gone', { ...deleted, ...dependent, kind: 'plan', workflow_name: null });
    await plant.edge(gone, parent);
    await plant.edge(await plant.manifest('child', { ...deleted, ...dependent }), gone);
    await server.pool.query(
      `insert into waybill.plan_step (plan_id, group_index, position, name, workflow_name, group_id) select $1, 0, 0, 'step', 'work', min(id) from waybill.manifest_group`,
      [gone],
    );
    await server.pool.query(
      `insert into waybill.backfill (manifest_id, from_at, to_at, cursor_at, initiator_type) values ($1, now() - interval '2 days', now(), now(), 'user')`,
      [gone],
    );
    expect(await run()).toMatchObject({ manifestCount: 2 });
    expect(await left('manifest')).toEqual([parent]);
    expect([await left('plan_step'), await left('backfill')]).toEqual([[], []]);
    expect((await server.pool.query('select from waybill.manifest_dependency')).rowCount).toBe(0);
  });

  it('goes in the pass in which its last runs and entries go', async () => {
    const manifestId = await plant.manifest('gone', deleted);
    const entry = { manifest_id: manifestId, created_at: OLD };
    const dispatched = await plant.entry({ ...entry, status: 'dispatched', dispatched_at: OLD });
    await plant.entry({ ...entry, status: 'cancelled', cancelled_at: OLD });
    const execution = await plant.execution({ ...failed, manifest_id: manifestId, work_queue_id: dispatched });
    await plant.deadLetter({
      manifest_id: manifestId,
      execution_id: execution,
      run_id: execution,
      status: 'acknowledged',
      resolved_at: OLD,
    });
    expect(await run()).toMatchObject({ executionCount: 1, entryCount: 2, manifestCount: 1 });
    expect(await left('manifest')).toEqual([]);
  });

  it('waits for another pass when there was no time for all that could name it', async () => {
    const manifestId = await plant.manifest('gone', deleted);
    for (let index = 0; index < 3; index++) await plant.execution(failed);
    expect(await run({ batchSize: 2, hasTime: () => false })).toMatchObject({ executionCount: 2, manifestCount: 0 });
    expect(await left('manifest')).toEqual([manifestId]);
    expect(await run()).toMatchObject({ manifestCount: 1 });
  });
});

describe('a manifest stays', () => {
  it.each([
    ['while it exists', {}],
    ['while it was deleted a shorter time ago', { deleted_at: daysAgo(90) }],
  ])('%s', async (_, columns) => {
    const id = await plant.manifest('job', columns);
    await run();
    expect(await left('manifest')).toEqual([id]);
  });

  const naming: [string, (manifestId: string) => Promise<unknown>][] = [
    ['an unfinished execution', (manifest_id) => plant.execution({ state: 'in_progress', ...lease, manifest_id })],
    ['an execution that ended recently', (manifest_id) => plant.execution({ ...failed, finished_at: daysAgo(1), manifest_id })],
    ['a queued entry', (manifest_id) => plant.entry({ manifest_id, created_at: OLD })],
    [
      'an entry whose execution is still there',
      async (manifest_id) => {
        const id = await plant.entry({ manifest_id, created_at: OLD, status: 'dispatched', dispatched_at: OLD });
        await plant.execution({ ...failed, finished_at: daysAgo(1), work_queue_id: id });
      },
    ],
    [
      'a dead letter',
      async (manifest_id) => {
        const execution_id = await plant.execution(failed);
        await plant.deadLetter({ manifest_id, execution_id, run_id: execution_id });
      },
    ],
    [
      'a dependent that still waits for it',
      async (id) => plant.edge(await plant.manifest('child', { schedule_type: 'dependent', dependency_mode: 'all' }), id),
    ],
  ];
  it.each(naming)('while it is named by %s', async (_, name) => {
    const id = await plant.manifest('job', deleted);
    await name(id);
    expect(await run()).toMatchObject({ manifestCount: 0 });
    expect(await left('manifest')).toContain(id);
  });

  it('while somebody holds it', async () => {
    const held = await plant.manifest('held', deleted);
    await plant.manifest('free', deleted);
    await database.transaction(async (db) => {
      await db.query({ text: 'select from waybill.manifest where id = $1 for key share', values: [held] });
      expect(await run()).toMatchObject({ manifestCount: 1 });
    });
    expect(await left('manifest')).toEqual([held]);
  });

  it('and does not keep others from going that were deleted later', async () => {
    const kept: string[] = [];
    for (let index = 0; index < 5; index++) {
      const manifest_id = await plant.manifest(`kept-${index}`, deleted);
      await plant.entry({ manifest_id, created_at: OLD });
      kept.push(manifest_id);
    }
    for (let index = 0; index < 5; index++) await plant.manifest(`gone-${index}`, { deleted_at: daysAgo(99) });
    expect(await run({ batchSize: 2 })).toMatchObject({ manifestCount: 5 });
    expect(await left('manifest')).toEqual(kept);
  });
});
