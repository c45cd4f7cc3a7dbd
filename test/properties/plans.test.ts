import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { sql } from '../../shared/db/sql.ts';
import { WaybillError } from '../../shared/errors.ts';
import { claimExecutions } from '../../shared/executor/claim-executions.ts';
import { findRestingPlans } from '../../shared/manager/find-plans.ts';
import { cancelExecution } from '../../shared/operations/cancel-execution.ts';
import { changeGroup } from '../../shared/operations/change-group.ts';
import { rerun } from '../../shared/operations/rerun.ts';
import { acknowledgeDeadLetter, retryDeadLetter } from '../../shared/operations/resolve-dead-letter.ts';
import { resume } from '../../shared/operations/resume.ts';
import { trigger } from '../../shared/operations/trigger.ts';
import { findEarly, findMisjudged } from '../plans/find-misjudged.ts';
import { dependent, everyMinute, type PlannedStep, usePlans } from '../plans/use-plans.ts';
import { checkInvariants } from '../support/check-invariants.ts';

const world = usePlans();
const groups = ['one', 'two'];

const step = fc.record({
  group: fc.constantFrom(...groups),
  continueOnFailure: fc.boolean(),
  maxAttempts: fc.constantFrom(1, 1, 2),
  isEnabled: fc.constantFrom(true, true, true, false),
});
const definition = fc.array(fc.array(step, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 3 });
type Definition = typeof definition extends fc.Arbitrary<infer D> ? D : never;

const command = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constant('advance' as const), seconds: fc.integer({ min: 1, max: 40 }) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('manage' as const) }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('dispatch' as const) }) },
  // What each delivered step does: succeeds, fails, warns or sleeps; delivered never, once or twice at the same time.
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('deliver' as const),
      times: fc.constantFrom(1, 1, 1, 2, 0),
      acts: fc.array(fc.constantFrom('succeed', 'succeed', 'fail', 'warn', 'sleep'), { minLength: 4, maxLength: 4 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('crash' as const) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('trigger' as const), name: fc.constantFrom('timed', 'after') }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constantFrom(
        'cancel a plan' as const,
        'cancel a step' as const,
        'resume' as const,
        'rerun' as const,
        'retry' as const,
        'acknowledge' as const,
      ),
      place: fc.nat(5),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('group' as const),
      name: fc.constantFrom(...groups),
      isEnabled: fc.boolean(),
      maxActiveJobs: fc.constantFrom(null, 1),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('redefine' as const), definition }) },
);
type Command = typeof command extends fc.Arbitrary<infer C> ? C : never;

const named = (plan: Definition): PlannedStep[][] =>
  plan.map((members, index) => members.map((one, place) => ({ ...one, name: `${index}.${place}` })));

const columns = { max_attempts: 2, backoff_initial_seconds: 5, timeout_seconds: 200 };

/** A plan that runs every minute, one that runs after it, and a job that runs after that. */
async function declare(timed: Definition, after: Definition): Promise<void> {
  await world.plan('timed', named(timed), { ...everyMinute, ...columns });
  await world.plan('after', named(after), { ...dependent, ...columns });
  await world.depend('after', 'timed');
  await world.sync([{ externalId: 'job', schedule: { type: 'dependent', dependsOn: ['after'], mode: 'all' } }]);
}

async function idOf(statement: ReturnType<typeof sql>, place: number): Promise<string> {
  const rows = await world.rows<{ id: string }>(statement);
  return rows[place % Math.max(rows.length, 1)]?.id ?? '0';
}

const unfinished = (isPlan: boolean) =>
  sql`select id::text from waybill.execution where finished_at is null and (group_count is not null) = ${isPlan} order by id`;
const ended = sql`select id::text from waybill.execution where state in ('failed', 'cancelled') and group_count is not null order by id desc`;
const letters = sql`select id::text from waybill.dead_letter where status = 'awaiting_intervention' order by id`;

async function act(one: Command): Promise<unknown> {
  switch (one.do) {
    case 'advance':
      return world.clock.advance(one.seconds);
    case 'manage':
      return world.manage();
    case 'dispatch':
      return world.dispatch();
    case 'deliver': {
      let place = 0;
      world.behaviour = async (ctx) => {
        const what = one.acts[place++ % one.acts.length];
        if (what === 'fail') throw new Error('no');
        if (what === 'warn') ctx.warn('half of it');
        if (what === 'sleep') await ctx.sleep('nap', 10);
      };
      const ids = world.doorbell.bells.splice(0).map(({ executionId }) => executionId);
      return Promise.all(Array.from({ length: one.times }, () => world.execute(ids)));
    }
    case 'crash': {
      const ids = world.doorbell.bells.splice(0, 2).map(({ executionId }) => executionId);
      return claimExecutions(world.database, { ids, leaseToken: randomUUID(), leaseSeconds: 45, requestId: randomUUID(), logStream: 'l' });
    }
    case 'trigger':
      return trigger(world.context, { externalId: one.name });
    case 'cancel a plan':
      return cancelExecution(world.context, await idOf(unfinished(true), one.place));
    case 'cancel a step':
      return cancelExecution(world.context, await idOf(unfinished(false), one.place));
    case 'resume':
      return resume(world.context, await idOf(ended, one.place));
    case 'rerun':
      return rerun(world.context, await idOf(ended, one.place));
    case 'retry':
      return retryDeadLetter(world.context, await idOf(letters, one.place));
    case 'acknowledge':
      return acknowledgeDeadLetter(world.context, await idOf(letters, one.place));
    case 'group':
      return changeGroup(world.context, one.name, { isEnabled: one.isEnabled, maxActiveJobs: one.maxActiveJobs });
    case 'redefine':
      return world.plan('timed', named(one.definition));
  }
}

/** Everything is switched on, nothing fails any more, and no further tick comes: whatever was begun must now come to an end. */
async function settle(): Promise<void> {
  world.behaviour = () => 'done';
  for (const name of groups) await changeGroup(world.context, name, { isEnabled: true, maxActiveJobs: null }).catch(() => undefined);
  await world.rows(sql`update waybill.manifest set is_enabled = false, next_due_at = null where external_id = 'timed'`);
  for (let round = 0; round < 25; round++) {
    // Also those that are written only now, for what was begun before and got lost.
    for (const { id } of await world.rows<{ id: string }>(letters)) await acknowledgeDeadLetter(world.context, id);
    await world.drain();
    world.clock.advance(31);
  }
}

it('whatever people, clocks and crashes do to plans, groups run in order, each plan ends as its steps say, and nothing stays behind', async () => {
  await fc.assert(
    fc.asyncProperty(definition, definition, fc.array(command, { minLength: 10, maxLength: 40 }), async (timed, after, commands) => {
      await world.empty();
      await declare(timed, after);
      // A group that was changed is told from one that never was by the instant.
      world.clock.advance(1);
      for (const one of commands) {
        try {
          await act(one);
        } catch (error) {
          // A refusal is an answer: what was asked for is not there, or not possible now.
          if (!(error instanceof WaybillError)) throw error;
        }
        await world.database.transaction((db) => checkInvariants(db, { kinds: ['always'] }));
        expect(await findRestingPlans(world.database)).toEqual([]);
      }
      await settle();
      await world.database.transaction((db) => checkInvariants(db, { kinds: ['always', 'eventually'] }));
      expect(await world.rows(sql`select id, state, step_name from waybill.execution where finished_at is null`)).toEqual([]);
      expect(await world.rows(sql`select id, lane, origin from waybill.work_queue where status = 'queued'`)).toEqual([]);
      expect(await findMisjudged(world.database)).toEqual([]);
      expect(await findEarly(world.database)).toEqual([]);
      const successes = sql`
        select m.external_id from waybill.manifest m where m.kind = 'plan' and m.success_count <> (
          select count(*) from waybill.execution e where e.manifest_id = m.id and e.parent_id is null and e.state in ('completed', 'completed_with_warnings'))`;
      expect(await world.rows(successes)).toEqual([]);
    }),
    { numRuns: 15, interruptAfterTimeLimit: 120_000, markInterruptAsFailure: true },
  );
}, 180_000);
