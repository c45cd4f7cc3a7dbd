import { beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { sql } from '../../shared/db/sql.ts';
import { workflow } from '../../shared/define/workflow.ts';
import type { AnyWorkflow } from '../../shared/model/workflow.ts';
import { trigger } from '../../shared/operations/trigger.ts';
import { everyMinute, none, useWorld } from '../engine/use-world.ts';

const world = useWorld();
const declare = () => world.sync([{ externalId: 'job', schedule: none, maxAttempts: 2, backoff: { initialSeconds: 1, jitter: 0 } }]);
/** The schema of today: what used to be called `table` is a list. */
const input = z.object({ tables: z.array(z.string()) });
const today: AnyWorkflow = workflow({ name: 'work', input, run: (_, { tables }) => tables });
const failedWith = async () => (await world.runs('job')).at(-1)?.failure_code;
const reason = async () => (await world.rows(sql`select reason from waybill.dead_letter`)).at(-1);

beforeEach(async () => {
  await declare();
  world.clock.advance(60);
});

/** A deployment that changes the workflow. */
async function deploy(): Promise<void> {
  world.clock.advance(60);
  await world.rows(sql`update waybill.workflow set updated_at = waybill.now() where name = 'work'`);
  world.clock.advance(60);
}

describe('an input that the schema refuses', () => {
  it('is invalid if it was asked for under the workflow of today', async () => {
    await trigger(world.context, { externalId: 'job', input: { table: 'orders' } });
    await world.dispatch();
    expect(await world.deliver([today])).toMatchObject([{ failureCode: 'invalid_input', next: 'dead_letter' }]);
    expect(await reason()).toEqual({ reason: 'invalid_input' });
  });

  it('is outdated if the workflow was deployed while it waited in the queue', async () => {
    await trigger(world.context, { externalId: 'job', input: { table: 'orders' } });
    await deploy();
    await world.dispatch();
    expect(await world.deliver([today])).toMatchObject([{ failureCode: 'input_outdated', next: 'dead_letter' }]);
    expect(await reason()).toEqual({ reason: 'input_outdated' });
  });

  it('is outdated if the workflow was deployed between two attempts', async () => {
    await trigger(world.context, { externalId: 'job', input: { table: 'orders' } });
    await world.dispatch();
    world.behaviour = () => Promise.reject(new Error('not yet'));
    await world.deliver();
    await deploy();
    await world.dispatch();
    await world.deliver([today]);
    expect(await failedWith()).toBe('input_outdated');
  });
});

describe('an input of a schedule that the schema refuses', () => {
  const schedule = (given: object) => world.sync([{ externalId: 'job', schedule: everyMinute, input: given }]);

  it('is invalid if its manifest was defined with it together with the workflow, however long the tick had waited by then', async () => {
    await schedule({ tables: ['orders'] });
    await world.manage();
    world.clock.advance(60);
    await schedule({ table: 'orders' });
    await world.rows(sql`update waybill.workflow set updated_at = waybill.now() where name = 'work'`);
    world.clock.advance(60);
    await world.dispatch();
    await world.deliver([today]);
    expect(await failedWith()).toBe('invalid_input');
  });

  it('is outdated if the workflow was deployed since its manifest was defined, however late the tick', async () => {
    await schedule({ table: 'orders' });
    await deploy();
    await world.manage();
    await world.dispatch();
    await world.deliver([today]);
    expect(await failedWith()).toBe('input_outdated');
  });
});

describe('a workflow that mends its inputs', () => {
  const mending = (upgradeInput: AnyWorkflow['upgradeInput']): AnyWorkflow => ({ ...today, upgradeInput });
  beforeEach(async () => {
    await trigger(world.context, { externalId: 'job', input: { table: 'orders' } });
    await deploy();
    await world.dispatch();
  });

  it('runs with what it made of them, and what was stored stays', async () => {
    const issues: unknown[] = [];
    const work = mending((stored, found) => {
      issues.push(...found);
      return { tables: [(stored as { table: string }).table] };
    });
    expect(await world.deliver([work])).toMatchObject([{ state: 'completed' }]);
    expect(await world.runs('job')).toMatchObject([{ input: { table: 'orders' }, output: ['orders'] }]);
    expect(issues).toMatchObject([{ path: ['tables'] }]);
  });

  it('is not asked about an input that is right', async () => {
    await world.deliver([mending(() => Promise.reject(new Error('not now')))]);
    await world.rows(sql`delete from waybill.work_queue where status = 'queued'`);
    await trigger(world.context, { externalId: 'job', input: { tables: ['orders'] } });
    await world.dispatch();
    expect(await world.deliver([mending(() => Promise.reject(new Error('asked')))])).toMatchObject([{ state: 'completed' }]);
  });

  it('into something that is refused too has an outdated input', async () => {
    await world.deliver([mending(() => ({ tables: 'orders' }))]);
    expect(await failedWith()).toBe('input_outdated');
  });

  it('and fails at it is tried again, like any other failure', async () => {
    expect(await world.deliver([mending(() => Promise.reject(new Error('not now')))])).toMatchObject([
      { failureCode: 'thrown', failureMessage: 'not now', next: 'retry' },
    ]);
  });
});
