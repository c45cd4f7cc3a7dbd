import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { sql } from '../../shared/db/sql.ts';
import { claimExecutions } from '../../shared/executor/claim-executions.ts';
import { trigger } from '../../shared/operations/trigger.ts';
import { everyMinute, fail, START, useWorld } from './use-world.ts';

const world = useWorld();
const { at } = world;
const job = 'job';
const overlapped = { last_skip_reason: 'overlap', skip_count: 1, next_due_at: at('00:02:00') };

/** The tick of 00:01. */
async function tick() {
  world.clock.set(at('00:01:00'));
  await world.manage();
}

beforeEach(() => world.sync([{ externalId: job, schedule: everyMinute, backoff: { initialSeconds: 300, jitter: 0 } }]));

describe('a tick is skipped when its manifest', () => {
  it('has a run that was admitted and not started', async () => {
    await world.manage();
    await world.dispatch();
    await tick();
    expect(await world.manifest(job)).toMatchObject(overlapped);
    await world.drain();
    expect(await world.runs(job)).toMatchObject([{ state: 'completed', occurrence_at: new Date(START) }]);
  });

  it('is running', async () => {
    await world.manage();
    await world.dispatch();
    const ids = world.doorbell.bells.map(({ executionId }) => executionId);
    await claimExecutions(world.database, { ids, leaseToken: randomUUID(), leaseSeconds: 300, requestId: 'r', logStream: 'l' });
    await tick();
    expect(await world.manifest(job)).toMatchObject(overlapped);
  });

  it('has a retry waiting, however far off', async () => {
    world.behaviour = fail;
    await world.cycle();
    await tick();
    expect(await world.manifest(job)).toMatchObject(overlapped);
    expect(await world.entries(job)).toHaveLength(2);
  });

  it('has the entry of an earlier tick that waits for its jitter, which keeps its occurrence and its instant', async () => {
    await world.manage();
    await world.database.query(sql`update waybill.work_queue set available_at = ${at('00:10:00')}`);
    await tick();
    expect(await world.manifest(job)).toMatchObject(overlapped);
    expect(await world.entries(job)).toMatchObject([{ occurrence_at: new Date(START), available_at: at('00:10:00') }]);
  });

  it('has an entry queued for now', async () => {
    await world.manage();
    await tick();
    expect(await world.manifest(job)).toMatchObject(overlapped);
    await world.drain();
    expect(await world.runs(job)).toHaveLength(1);
  });
});

describe('a tick that finds a delayed trigger', () => {
  beforeEach(() => world.drain());

  it('without input brings it forward, and it takes the tick’s occurrence', async () => {
    const { queueEntryId } = await trigger(world.context, { externalId: job, delaySeconds: 600 });
    await tick();
    await world.drain();
    expect(await world.runs(job)).toMatchObject([{ occurrence_at: new Date(START) }, { occurrence_at: at('00:01:00'), origin: 'manual' }]);
    expect((await world.entries(job)).at(-1)).toMatchObject({ id: Number(queueEntryId), status: 'dispatched' });
    expect(await world.manifest(job)).toMatchObject({ skip_count: 0, next_due_at: at('00:02:00') });
  });

  it('with input leaves it alone: both run', async () => {
    await trigger(world.context, { externalId: job, input: { asked: true }, delaySeconds: 30 });
    await tick();
    await world.drain();
    expect((await world.runs(job)).map(({ input, occurrence_at }) => [input, occurrence_at])).toEqual([
      [{}, new Date(START)],
      [{}, at('00:01:00')],
      [{ asked: true }, at('00:00:30')],
    ]);
  });

  it('while it is running is skipped, and the trigger keeps its instant', async () => {
    await trigger(world.context, { externalId: job });
    await world.dispatch();
    await trigger(world.context, { externalId: job, delaySeconds: 600 });
    await tick();
    expect(await world.manifest(job)).toMatchObject(overlapped);
    expect((await world.entries(job)).at(-1)).toMatchObject({ status: 'queued', available_at: at('00:10:00') });
  });
});

describe('series work', () => {
  beforeEach(async () => {
    await world.sync([{ externalId: job, schedule: everyMinute, misfire: { policy: 'fire_all', limit: 3 } }]);
    await world.drain();
    world.clock.set(at('00:05:30'));
    await world.manage();
  });

  it('never makes a tick overlap, which takes the fresh place and goes first', async () => {
    world.clock.set(at('00:06:00'));
    await world.manage();
    await world.dispatch();
    expect((await world.runs(job)).at(-1)).toMatchObject({ occurrence_at: at('00:06:00') });
    await world.drain();
    expect((await world.runs(job)).map(({ occurrence_at }) => occurrence_at!.toISOString().slice(14, 16))).toEqual([
      '00',
      '06',
      '03',
      '04',
      '05',
    ]);
  });

  it('that is running right now is a run like any other', async () => {
    await world.dispatch();
    world.clock.set(at('00:06:00'));
    await world.manage();
    expect(await world.manifest(job)).toMatchObject({ last_skip_reason: 'overlap' });
  });
});
