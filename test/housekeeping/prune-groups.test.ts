import { describe, expect, it } from 'vitest';
import { lease } from '../operations/plant.ts';
import { daysAgo, failed, OLD, useHousekeeping } from './use-housekeeping.ts';

const { server, database, plant, run, left } = useHousekeeping('manifest_group', 'manifest', 'execution', 'dead_letter', 'work_queue');

async function plantOrphan(name: string, orphanedAt: Date | null): Promise<string> {
  const id = await plant.group(name);
  await server.pool.query('update waybill.manifest_group set orphaned_at = $2 where id = $1', [id, orphanedAt]);
  return id;
}

async function readGroups(): Promise<{ id: string; isOrphan: boolean }[]> {
  const { rows } = await server.pool.query(
    `select g.id::text, g.orphaned_at is not null as "isOrphan" from waybill.manifest_group g order by g.id`,
  );
  return rows;
}

const inUse: [string, (groupId: string) => Promise<unknown>][] = [
  ['a manifest', () => plant.manifest('job', { group: 'orphan' })],
  ['a manifest that was deleted', () => plant.manifest('job', { group: 'orphan', deleted_at: daysAgo(1) })],
  [
    'a step of a plan',
    async (group_id) => {
      const plan = await plant.manifest('plan', { kind: 'plan', workflow_name: null, group: 'other' });
      await server.pool.query(
        `insert into waybill.plan_step (plan_id, group_index, position, name, workflow_name, group_id) values ($1, 0, 0, 'step', 'work', $2)`,
        [plan, group_id],
      );
    },
  ],
  ['a queued entry', (group_id) => plant.entry({ group_id })],
  ['an execution that waits', (group_id) => plant.execution({ state: 'waiting', group_id })],
  ['an execution in progress', (group_id) => plant.execution({ state: 'in_progress', ...lease, group_id })],
  [
    'a run whose dead letter awaits a person',
    async (group_id) => {
      const execution_id = await plant.execution({ ...failed, group_id });
      await plant.deadLetter({ execution_id, run_id: execution_id });
    },
  ],
];

describe('a group that only history names', () => {
  it('is marked, and goes when the mark is older than the retention', async () => {
    const id = await plantOrphan('young', null);
    await plant.execution({ ...failed, finished_at: daysAgo(1), group_id: id });
    await plantOrphan('old', OLD);
    expect(await run()).toMatchObject({ groupCount: 1 });
    expect(await readGroups()).toEqual([{ id, isOrphan: true }]);
  });

  it('keeps the instant at which it was found, pass by pass', async () => {
    await plantOrphan('marked', daysAgo(5));
    await run();
    const { rows } = await server.pool.query(`select orphaned_at < now() - interval '4 days' as "isKept" from waybill.manifest_group`);
    expect(rows).toEqual([{ isKept: true }]);
  });

  it('goes in the pass in which the last of its history goes', async () => {
    const id = await plantOrphan('old', OLD);
    const entry = await plant.entry({ group_id: id, status: 'dispatched', dispatched_at: OLD, created_at: OLD });
    await plant.execution({ ...failed, group_id: id, work_queue_id: entry });
    expect(await run()).toMatchObject({ executionCount: 1, entryCount: 1, groupCount: 1 });
  });

  it.each([
    [
      'an attempt of a run that stays as a whole',
      async (group_id: string) => {
        const first = await plant.execution({ ...failed, group_id });
        await plant.execution({ ...failed, finished_at: daysAgo(1), run_id: first, attempt: 2, group_id: await plant.group('other') });
      },
    ],
    [
      'an entry whose execution is still there',
      async (group_id: string) => {
        const entry = await plant.entry({ group_id, status: 'dispatched', dispatched_at: OLD, created_at: OLD });
        await plant.execution({ ...failed, finished_at: daysAgo(1), work_queue_id: entry, group_id: await plant.group('other') });
      },
    ],
  ])('stays while that is %s', async (_, name) => {
    const id = await plantOrphan('orphan', OLD);
    await name(id);
    await run();
    expect(await left('manifest_group')).toContain(id);
  });

  it('does not keep others from going, of which a pass removes a hundred', async () => {
    const kept: string[] = [];
    for (let index = 0; index < 20; index++) {
      const group_id = await plantOrphan(`kept-${index}`, daysAgo(200));
      const first = await plant.execution({ ...failed, group_id });
      await plant.execution({ state: 'in_progress', ...lease, run_id: first, attempt: 2 });
      kept.push(group_id);
    }
    await server.pool.query(
      `insert into waybill.manifest_group (name, orphaned_at) select 'orphan-' || n, now() - interval '100 days' from generate_series(1, 130) n`,
    );
    expect(await run()).toMatchObject({ groupCount: 100 });
    expect(await run()).toMatchObject({ groupCount: 30 });
    expect(await left('manifest_group')).toEqual(kept);
  });
});

describe.each(inUse)('a group that is named by %s', (_, name) => {
  it('is not marked', async () => {
    const id = await plantOrphan('orphan', null);
    await name(id);
    await run();
    expect(await readGroups()).toContainEqual({ id, isOrphan: false });
  });

  it('stays, whatever its mark says, and loses it', async () => {
    const id = await plantOrphan('orphan', OLD);
    await name(id);
    await run();
    expect(await readGroups()).toContainEqual({ id, isOrphan: false });
  });
});

it('a group that somebody holds is neither marked nor removed', async () => {
  const ids = [await plantOrphan('young', null), await plantOrphan('old', OLD)];
  await database.transaction(async (db) => {
    await db.query({ text: 'select from waybill.manifest_group for key share', values: [] });
    await run();
  });
  expect(await readGroups()).toEqual([
    { id: ids[0], isOrphan: false },
    { id: ids[1], isOrphan: true },
  ]);
});
