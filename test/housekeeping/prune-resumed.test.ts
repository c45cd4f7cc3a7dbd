import { describe, expect, it } from 'vitest';
import { sql } from '../../shared/db/sql.ts';
import { prune } from '../../shared/housekeeping/prune.ts';
import { resume } from '../../shared/operations/resume.ts';
import { beforeCommit, beforeStatement, settlesOrWaits } from '../engine/interleave.ts';
import { fail, usePlans } from '../plans/use-plans.ts';

const world = usePlans();

/** A plan of which the second step failed, long ago, with nothing but its history left. */
async function failLongAgo(): Promise<string> {
  await world.plan('plan', [['a'], ['b']]);
  world.acts.b = fail;
  await world.begin();
  await world.drain();
  world.clock.advance(100 * 86_400);
  world.began.length = 0;
  delete world.acts.b;
  return String((await world.latest()).id);
}

const goesOn = async () => {
  await world.drain();
  expect(world.began).toEqual(['b']);
  expect(await world.plans()).toMatchObject([{ state: 'failed' }, { state: 'completed', attempt: 2 }]);
};

describe('a plan that is resumed while housekeeping looks at its run', () => {
  it.each([0, 1])('keeps it, if it was faster: before statement %i', async (number) => {
    const id = await failLongAgo();
    const database = beforeStatement(world.database, number, () => resume(world.context, id));
    await prune(database, { retentionDays: 90 });
    expect(database.hasInterrupted()).toBe(true);
    await goesOn();
  });

  it.each([2, 3, 4, 5, 6, 7])('is refused, if the run is already going: before statement %i', async (number) => {
    const id = await failLongAgo();
    let resuming: Promise<unknown> | undefined;
    const database = beforeStatement(world.database, number, async () => {
      resuming = resume(world.context, id);
      await settlesOrWaits(world.database, resuming);
    });
    expect(await prune(database, { retentionDays: 90 })).toMatchObject({ executionCount: 3 });
    await expect(resuming).rejects.toMatchObject({ code: 'execution_not_found' });
    expect(await world.rows(sql`select from waybill.work_queue where status = 'queued'`)).toEqual([]);
  });

  it('keeps it, if housekeeping comes before its commit', async () => {
    const id = await failLongAgo();
    const database = beforeCommit(world.database, () => prune(world.database, { retentionDays: 90 }));
    await resume({ ...world.context, database }, id);
    await goesOn();
  });
});
