import { describe, expect, it } from 'vitest';
import type { Database } from '../../shared/db/database.ts';
import { sql } from '../../shared/db/sql.ts';
import { claimExecutions } from '../../shared/executor/claim-executions.ts';
import type { ExecutionId } from '../../shared/model/ids.ts';
import { endRuns } from '../../shared/transitions/end-runs.ts';
import { beforeCommit, settlesOrWaits } from '../engine/interleave.ts';
import { checkInvariants } from '../support/check-invariants.ts';
import { findEarly, findMisjudged } from './find-misjudged.ts';
import { stormPlans, withoutPlanLock } from './storm-plans.ts';
import { usePlans } from './use-plans.ts';

const world = usePlans();

it('24 finishers over 500 plans, with failures, retries, cancellations, duplicates, lost leases and recovery: each group is released once and in order, and every plan ends', async () => {
  const figures = await stormPlans({ world, database: world.database, planCount: 500, finisherCount: 24, seconds: 150 });
  expect(figures.errors).toEqual([]);
  expect([...figures.stuck]).toEqual([]);
  expect(await world.rows(sql`select id, state, group_index from waybill.execution where finished_at is null`)).toEqual([]);
  // Only those that were lost together are handed back, to run alone.
  const handedBack = new Set(
    (await world.rows<{ id: ExecutionId }>(sql`select id from waybill.execution where is_solo`)).map(({ id }) => id),
  );
  expect([...figures.claims].filter(([id, count]) => count > 1 && !handedBack.has(id))).toEqual([]);
  await world.database.transaction((db) => checkInvariants(db, { kinds: ['always', 'eventually'] }));
  // Each step came into the queue once, however many ended the group before it.
  expect(
    await world.rows(
      sql`select execution_id from waybill.work_queue where execution_id is not null group by execution_id having count(*) > 1`,
    ),
  ).toEqual([]);
  expect(await findEarly(world.database)).toEqual([]);
  expect(await findMisjudged(world.database)).toEqual([]);
  const [counts] = await world.rows<Record<string, number>>(sql`
    select count(*) filter (where state = 'completed') as completed, count(*) filter (where state = 'completed_with_warnings') as warned,
           count(*) filter (where state = 'failed') as failed, count(*) filter (where state = 'cancelled') as cancelled, count(*) as plans,
           (select count(*) from waybill.execution where attempt > 1) as retries, (select sum(success_count)::int from waybill.manifest) as successes
      from waybill.execution where group_count is not null`);
  expect(counts!.plans).toBe(500);
  expect(counts!.successes).toBe(counts!.completed! + counts!.warned!);
  for (const kind of ['completed', 'warned', 'failed', 'cancelled', 'retries']) expect(counts![kind], kind).toBeGreaterThan(5);
  for (const kind of ['cancelRequestCount', 'lostCount', 'lookCount'] as const) expect(figures[kind], kind).toBeGreaterThan(5);
  // One order of locks: nobody waits in a circle.
  expect(figures.deadlockCount).toBe(0);
}, 180_000);

describe('two who end the last two steps of a group at the same time', () => {
  /** One of them has done all but its commit when the other begins. */
  async function finishBoth(finisher: Database): Promise<'settled' | 'waits'> {
    await world.plan('plan', [['a', 'b'], ['c']]);
    await world.begin();
    const steps = (await world.steps()).slice(0, 2).map(({ id }) => id as ExecutionId);
    const tokens = ['00000000-0000-4000-8000-000000000001', '00000000-0000-4000-8000-000000000002'];
    for (const [index, id] of steps.entries())
      await claimExecutions(world.database, {
        ids: [id],
        leaseToken: tokens[index]!,
        leaseSeconds: 45,
        requestId: `r${index}`,
        logStream: 'l',
      });
    const end = (database: Database, index: number) =>
      database.transaction((db) => endRuns(db, [{ executionId: steps[index]!, leaseToken: tokens[index]!, state: 'completed' }]));
    let seen: 'settled' | 'waits' | undefined;
    let second: Promise<unknown> | undefined;
    await end(
      beforeCommit(finisher, async () => {
        second = end(finisher, 1);
        seen = await settlesOrWaits(world.database, second);
      }),
      0,
    );
    await second;
    return seen!;
  }

  it('take turns, and the second releases the next group', async () => {
    expect(await finishBoth(world.database)).toBe('waits');
    expect(await world.queued()).toEqual(['c']);
    expect(await world.latest()).toMatchObject({ current_group_index: 1 });
  });

  it('would each see one that is not over, and nobody would go on, if they did not lock the plan', async () => {
    const planted = withoutPlanLock(world.database);
    expect(await finishBoth(planted)).toBe('settled');
    expect(planted.strippedCount()).toBe(2);
    expect(await world.queued()).toEqual([]);
    expect(await world.latest()).toMatchObject({ state: 'in_progress', current_group_index: 0 });
    await world.manage();
    expect(await world.queued()).toEqual(['c']);
  });
});

it('the same storm over plans that nobody locks leaves one behind that nothing moves', async () => {
  const planted = withoutPlanLock(world.database);
  let harmCount = 0;
  // Two must end the last steps of a group at the same time, which a storm may miss.
  for (let storm = 0; storm < 10 && harmCount === 0; storm++) {
    await world.empty();
    const { stuck, errors } = await stormPlans({ world, database: planted, planCount: 500, finisherCount: 24, seconds: 60 });
    harmCount = stuck.size + errors.length;
  }
  expect(planted.strippedCount()).toBeGreaterThan(0);
  expect(harmCount).toBeGreaterThan(0);
}, 120_000);
