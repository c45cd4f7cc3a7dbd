import { beforeEach, expect, it } from 'vitest';
import { sql } from '../../shared/db/sql.ts';
import { START, useFreshEngine, workflowNamed } from '../support/engine.ts';

const engine = useFreshEngine();

beforeEach(async () => {
  await engine.sync([{ externalId: 'job', maxAttempts: 3 }]);
  await engine.manage();
  await engine.dispatch();
});

const execution = async () => (await engine.rows<Record<string, unknown>>(sql`select * from waybill.execution`))[0]!;
const others = [workflowNamed('other')];

it('a workflow that a rollout brings within ten minutes runs as the first attempt', async () => {
  await engine.deliver(others);
  expect(await execution()).toMatchObject({ state: 'pending', attempt: 1, lease_token: null, started_at: null });
  engine.clock.advance(31);
  expect(await engine.manage()).toMatchObject({ rungCount: 1 });
  expect(await engine.deliver()).toMatchObject([{ state: 'completed', attempt: 1 }]);
});

it('a workflow that stays unknown is rung for ten minutes from the first time, by the clock of the database, then handed to a person', async () => {
  for (let seconds = 0; seconds < 600; seconds += 60) {
    expect(await engine.deliver(others)).toEqual([]);
    expect(await execution()).toMatchObject({ state: 'pending', unknown_since_at: new Date(START) });
    engine.clock.advance(60);
    await engine.manage();
    expect(engine.doorbell.bells).toHaveLength(1);
  }
  expect(await engine.deliver(others)).toMatchObject([{ state: 'failed', failureCode: 'unknown_workflow', next: 'dead_letter' }]);
  expect(await engine.rows(sql`select reason from waybill.dead_letter`)).toEqual([{ reason: 'unknown_workflow' }]);
});

it('a second rollout, long after a deployment knew the workflow again, is waited for as long as the first', async () => {
  const rest = [workflowNamed('work', (ctx) => ctx.sleep('days', { days: 3 }))];
  await engine.deliver(others);
  engine.clock.advance(31);
  await engine.manage();
  await engine.deliver(rest);
  expect(await execution()).toMatchObject({ state: 'waiting', unknown_since_at: null });
  engine.clock.advance(3 * 86_400);
  await engine.dispatch();
  expect(await engine.deliver(others)).toEqual([]);
  expect(await execution()).toMatchObject({ state: 'pending', unknown_since_at: engine.clock.now() });
  engine.clock.advance(31);
  await engine.manage();
  expect(await engine.deliver(rest)).toMatchObject([{ state: 'completed', attempt: 1 }]);
});

it('a run of an unknown workflow whose cancellation was requested ends cancelled', async () => {
  await engine.deliver(others);
  await engine.database.query(sql`update waybill.execution set cancel_requested_at = waybill.now()`);
  engine.clock.advance(31);
  await engine.manage();
  expect(await engine.deliver(others)).toMatchObject([{ state: 'cancelled' }]);
});
