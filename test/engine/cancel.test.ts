import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { sql } from '../../shared/db/sql.ts';
import { claimExecutions } from '../../shared/executor/claim-executions.ts';
import { cancelEntry } from '../../shared/operations/cancel-entry.ts';
import { cancelExecution } from '../../shared/operations/cancel-execution.ts';
import { runWorkflow } from '../../shared/operations/run-workflow.ts';
import { trigger } from '../../shared/operations/trigger.ts';
import { endRuns } from '../../shared/transitions/end-runs.ts';
import { beforeStatement } from './interleave.ts';
import { everyMinute, fail, following, none, useWorld } from './use-world.ts';

const world = useWorld();
const { at } = world;
const job = 'job';
const last = async () => (await world.runs(job)).at(-1)!;

beforeEach(() => world.sync([{ externalId: job, schedule: everyMinute, backoff: { initialSeconds: 10, jitter: 0 } }]));

/** Takes the run over like an executor that then says nothing. */
async function start(): Promise<{ leaseToken: string }> {
  const leaseToken = randomUUID();
  const ids = world.doorbell.bells.splice(0).map(({ executionId }) => executionId);
  await claimExecutions(world.database, { ids, leaseToken, leaseSeconds: 45, requestId: 'r', logStream: 'l' });
  return { leaseToken };
}

describe('a queued entry', () => {
  it('is cancelled now: its occurrence is gone and the next one comes', async () => {
    await world.manage();
    const [entry] = await world.entries(job);
    await cancelEntry(world.context, String(entry!.id));
    await world.drain();
    expect(await world.runs(job)).toEqual([]);
    expect(await world.entries(job)).toMatchObject([{ status: 'cancelled', cancel_reason: 'cancelled by Ada' }]);
    world.clock.set(at('00:01:00'));
    await world.drain();
    expect(await world.runs(job)).toMatchObject([{ occurrence_at: at('00:01:00') }]);
  });

  it('of a series leaves the others', async () => {
    await world.sync([{ externalId: job, schedule: everyMinute, misfire: { policy: 'fire_all', limit: 3 } }]);
    world.clock.set(at('00:02:30'));
    await world.manage();
    const [, second] = await world.entries(job);
    await cancelEntry(world.context, String(second!.id));
    await world.drain();
    expect((await world.runs(job)).map(({ occurrence_at }) => occurrence_at)).toEqual([at('00:00:00'), at('00:02:00')]);
  });

  it('that was admitted meanwhile is refused, with what to cancel instead', async () => {
    await world.manage();
    const [entry] = await world.entries(job);
    await world.dispatch();
    await expect(cancelEntry(world.context, String(entry!.id))).rejects.toMatchObject({ code: 'not_queued' });
  });
});

describe.each([
  ['of a manifest', async () => (await trigger(world.context, { externalId: job })).queueEntryId],
  ['of nobody’s', async () => (await runWorkflow(world.context, { workflow: 'work' })).queueEntryId],
])('a queued entry %s', (_, queue) => {
  it('that was admitted and put to sleep while its cancellation was under way is refused, and still wakes its run', async () => {
    await world.sync([{ externalId: job, schedule: none }]);
    const entryId = await queue();
    world.behaviour = (ctx) => ctx.sleep('rest', 3_600);
    const database = beforeStatement(world.database, 1, async () => {
      await world.dispatch();
      await world.deliver();
    });
    await expect(cancelEntry({ ...world.context, database }, entryId)).rejects.toMatchObject({ code: 'belongs_to_execution' });
    world.clock.advance(3_600);
    await world.drain();
    expect(await world.rows(sql`select state from waybill.execution`)).toEqual([{ state: 'completed' }]);
  });
});

describe('an execution that nobody has started', () => {
  it('is cancelled now, and its bell finds nothing to do', async () => {
    await world.manage();
    await world.dispatch();
    expect(await cancelExecution(world.context, String((await last()).id))).toEqual({ outcome: 'cancelled' });
    expect(await world.deliver()).toEqual([]);
    expect(await last()).toMatchObject({ state: 'cancelled' });
    await world.drain();
    expect(await world.runs(job)).toHaveLength(1);
  });
});

describe('a running execution', () => {
  beforeEach(async () => {
    await world.manage();
    await world.dispatch();
  });

  it('is asked to stop; failing then, it ends cancelled, consumes its occurrence and is not retried', async () => {
    world.behaviour = async () => {
      expect(await cancelExecution(world.context, String((await last()).id))).toEqual({ outcome: 'requested' });
      throw new Error('stopped half-way');
    };
    await world.deliver();
    await world.drain();
    expect(await world.runs(job)).toMatchObject([{ state: 'cancelled' }]);
    expect(await world.manifest(job)).toMatchObject({ failed_count: 0, success_count: 0, next_due_at: at('00:01:00') });
    expect(await world.rows(sql`select from waybill.dead_letter`)).toEqual([]);
  });

  it('that ends well in spite of it has succeeded', async () => {
    world.behaviour = async () => {
      await cancelExecution(world.context, String((await last()).id));
      return 'done already';
    };
    await world.deliver();
    expect(await last()).toMatchObject({ state: 'completed' });
  });

  it('that dies with the cancellation requested ends cancelled when its lease runs out', async () => {
    await start();
    await cancelExecution(world.context, String((await last()).id));
    world.clock.advance(46);
    await world.manage();
    expect(await last()).toMatchObject({ state: 'cancelled' });
    expect(await world.entries(job)).toHaveLength(1);
  });

  it('that has ended cannot be cancelled, and cannot end twice', async () => {
    const { leaseToken } = await start();
    const { id } = await last();
    const outcome = { executionId: id as never, leaseToken, state: 'completed' as const };
    await world.database.transaction((db) => endRuns(db, [outcome]));
    await expect(cancelExecution(world.context, String(id))).rejects.toMatchObject({ code: 'already_finished' });
    expect(await world.database.transaction((db) => endRuns(db, [outcome]))).toEqual([]);
    expect(await world.manifest(job)).toMatchObject({ success_count: 1 });
  });
});

describe('a retry', () => {
  it('that waits is cancelled like any entry, and the schedule goes on', async () => {
    world.behaviour = fail;
    await world.cycle();
    const retry = (await world.entries(job)).at(-1)!;
    await cancelEntry(world.context, String(retry.id));
    world.behaviour = () => 'better';
    world.clock.set(at('00:01:00'));
    await world.drain();
    expect((await world.runs(job)).map(({ state, attempt }) => [state, attempt])).toEqual([
      ['failed', 1],
      ['completed', 1],
    ]);
  });

  it('that was admitted is cancelled as the run it belongs to', async () => {
    world.behaviour = fail;
    await world.cycle();
    world.clock.advance(10);
    await world.dispatch();
    await cancelExecution(world.context, String((await last()).id));
    await world.drain();
    expect(await world.runs(job)).toMatchObject([{ state: 'failed' }, { state: 'cancelled', attempt: 2 }]);
    expect(await world.manifest(job)).toMatchObject({ failed_count: 0 });
  });
});

describe('a dependent’s run', () => {
  beforeEach(async () => {
    await world.sync([
      { externalId: 'parent', schedule: none },
      { externalId: job, schedule: following('parent') },
    ]);
    await trigger(world.context, { externalId: 'parent' });
    await world.cycle();
    await world.manage();
    await world.dispatch();
  });

  it('that is cancelled has consumed the successes it was for', async () => {
    await cancelExecution(world.context, String((await last()).id));
    await world.drain();
    expect(await world.runs(job)).toHaveLength(1);
    await trigger(world.context, { externalId: 'parent' });
    await world.drain();
    expect(await world.runs(job)).toMatchObject([{ state: 'cancelled' }, { state: 'completed' }]);
  });

  it('that is cancelled after its parent succeeded again runs for the later success', async () => {
    const { id } = await last();
    world.doorbell.bells.length = 0;
    await trigger(world.context, { externalId: 'parent' });
    await world.drain();
    await cancelExecution(world.context, String(id));
    await world.drain();
    expect(await world.runs(job)).toMatchObject([{ state: 'cancelled' }, { state: 'completed' }]);
  });
});
