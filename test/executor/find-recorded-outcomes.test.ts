import { expect, it } from 'vitest';
import { sql } from '../../shared/db/sql.ts';
import { findRecordedOutcomes } from '../../shared/executor/find-recorded-outcomes.ts';
import type { ExecutionId } from '../../shared/model/ids.ts';
import { runWorkflow } from '../../shared/operations/run-workflow.ts';
import { trigger } from '../../shared/operations/trigger.ts';
import { fail, none, useWorld } from '../engine/use-world.ts';

const world = useWorld();
const declare = (group: string) => world.sync([{ externalId: 'job', group, schedule: none }]);

/** What an executor that got no answer to its commit asks. */
async function ask() {
  const [run] = await world.rows<{ id: ExecutionId; token: string }>(sql`select id, lease_token as token from waybill.execution`);
  const failure = { code: 'thrown', message: 'no' };
  return findRecordedOutcomes(world.database, [{ executionId: run!.id, leaseToken: run!.token, state: 'failed', failure }]);
}

it('the retry of a run whose manifest has moved to another group is found', async () => {
  await declare('old');
  await trigger(world.context, { externalId: 'job' });
  await world.dispatch();
  await declare('new');
  world.behaviour = fail;
  await world.deliver();
  expect(await ask()).toMatchObject([{ externalId: 'job', state: 'failed', next: 'retry' }]);
});

it('the retry of an ad-hoc run is found', async () => {
  await declare('old');
  await runWorkflow(world.context, { workflow: 'work', maxAttempts: 2 });
  await world.dispatch();
  world.behaviour = fail;
  await world.deliver();
  expect(await ask()).toMatchObject([{ externalId: null, state: 'failed', next: 'retry' }]);
});
