import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createTestKit, type TestKit } from 'waybill/testing';
import app from '../../examples/long-report/app.ts';
import { sql } from '../../shared/db/sql.ts';
import { trigger } from '../../shared/operations/trigger.ts';
import { none, useWorld } from '../engine/use-world.ts';

describe('in the test kit', () => {
  let kit: TestKit;
  beforeEach(async () => {
    kit = await createTestKit(app, { startAt: '2026-02-27T00:00:00Z' });
  });
  afterEach(() => kit.close());

  const start = async (customerCount: number) => {
    await kit.trigger('monthly-statements', { customerCount, secondsPerStatement: 0 });
    await kit.drain();
    return (await kit.runs())[0]!.id;
  };

  it('the report is due on the first of the month, in London', async () => {
    expect((await kit.manifest('monthly-statements')).nextDueAt).toBe('2026-03-01T06:00:00.000Z');
  });

  it('every customer has a statement, and the run sleeps before it sums them up', async () => {
    const id = await start(3);
    expect(await kit.run(id)).toMatchObject({ state: 'waiting', output: null });
    await kit.advanceBy({ minutes: 2 });
    expect(await kit.run(id)).toMatchObject({ state: 'completed', output: { totalCents: (1 + 2 + 3) * 1250 } });
    expect((await kit.run(id)).steps.map(({ name, state }) => [name, state])).toEqual(
      ['month', 'customer 1', 'customer 2', 'customer 3', 'until they are archived', 'summary'].map((name) => [name, 'completed']),
    );
  });

  it('a customer whose account is locked is a warning, and no reason to fail', async () => {
    const id = await start(12);
    await kit.advanceBy({ minutes: 2 });
    expect(await kit.run(id)).toMatchObject({ state: 'completed_with_warnings', attempt: 1 });
    expect((await kit.run(id)).output).toMatchObject({ totalCents: (78 - 10) * 1250 });
  });
});

describe('in functions that may take less than a second', () => {
  const world = useWorld();

  it('the report goes on from one invocation to the next, and no statement is written twice', async () => {
    const [report] = app.workflows.values();
    const input = { customerCount: 9, secondsPerStatement: 0.1 };
    await world.sync([{ externalId: 'report', workflow: report!.name, schedule: none, input }]);
    await trigger(world.context, { externalId: 'report' });
    await world.dispatch();
    let invocationCount = 0;
    for (; world.doorbell.bells.length; invocationCount++) await world.deliver([report!], { remainingMs: 900, timings: { graceMs: 30 } });
    expect(invocationCount).toBeGreaterThan(1);
    world.clock.advance(120);
    await world.manage();
    await world.dispatch();
    expect(await world.deliver([report!])).toMatchObject([{ state: 'completed', attempt: 1 }]);
    const steps = await world.rows<{ name: string; item_count: number }>(
      sql`select name, item_count from waybill.execution_step where name like 'customer%' order by sequence`,
    );
    expect(steps).toEqual(Array.from({ length: 9 }, (_, index) => ({ name: `customer ${index + 1}`, item_count: 1 })));
  });
});
