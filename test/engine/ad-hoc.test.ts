import { beforeEach, describe, expect, it } from 'vitest';
import { sql } from '../../shared/db/sql.ts';
import { rerun } from '../../shared/operations/rerun.ts';
import { retryDeadLetter } from '../../shared/operations/resolve-dead-letter.ts';
import { runWorkflow } from '../../shared/operations/run-workflow.ts';
import { fail, none, useWorld } from './use-world.ts';

const world = useWorld();
const attempts = async () =>
  (await world.rows<{ attempt: number }>(sql`select attempt from waybill.execution order by id`)).map(({ attempt }) => attempt);

/** An ad-hoc run that has failed as often as it may. */
beforeEach(async () => {
  await world.sync([{ externalId: 'job', schedule: none }]);
  await runWorkflow(world.context, { workflow: 'work', maxAttempts: 2 });
  world.behaviour = fail;
  await world.drain();
});

async function awaiting(): Promise<string> {
  const [letter] = await world.rows<{ id: string }>(sql`select id::text from waybill.dead_letter where status = 'awaiting_intervention'`);
  return letter!.id;
}

describe('an ad-hoc run that was dead-lettered', () => {
  it('gets as many attempts at every retry as at first', async () => {
    for (const total of [4, 6, 8]) {
      await retryDeadLetter(world.context, await awaiting());
      await world.drain();
      expect(await attempts()).toEqual(Array.from({ length: total }, (_, index) => index + 1));
    }
  });

  it('gets as many with an edited input, as a new run, even after it was retried without', async () => {
    await retryDeadLetter(world.context, await awaiting());
    await world.drain();
    await retryDeadLetter(world.context, await awaiting(), { input: { mended: true } });
    await world.drain();
    expect(await attempts()).toEqual([1, 2, 3, 4, 1, 2]);
  });

  it('gets as many when its last attempt is run again', async () => {
    await retryDeadLetter(world.context, await awaiting());
    await world.drain();
    const [last] = await world.rows<{ id: string }>(sql`select max(id)::text as id from waybill.execution`);
    await rerun(world.context, last!.id);
    await world.drain();
    expect(await attempts()).toEqual([1, 2, 3, 4, 1, 2]);
  });
});

it('an ad-hoc run whose workflow is no longer deployed is not run again', async () => {
  await world.rows(sql`update waybill.workflow set removed_at = waybill.now() where name = 'work'`);
  const [run] = await world.rows<{ id: string }>(sql`select max(id)::text as id from waybill.execution`);
  await expect(rerun(world.context, run!.id)).rejects.toMatchObject({
    code: 'workflow_not_found',
    message: "workflow 'work' is not deployed: GET /v1/workflows lists those that are",
  });
  expect(await world.rows(sql`select from waybill.work_queue where status = 'queued'`)).toEqual([]);
});
