import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { sql } from '../../shared/db/sql.ts';
import type { ManifestDefinition } from '../../shared/define/definition.ts';
import { ConflictError, NotFoundError } from '../../shared/errors.ts';
import { claimExecutions } from '../../shared/executor/claim-executions.ts';
import type { ExecutionId, ManifestId } from '../../shared/model/ids.ts';
import { cancelEntry } from '../../shared/operations/cancel-entry.ts';
import { cancelExecution } from '../../shared/operations/cancel-execution.ts';
import { changeGroup } from '../../shared/operations/change-group.ts';
import { removeManifest } from '../../shared/operations/remove-manifest.ts';
import { acknowledgeDeadLetter, retryDeadLetter } from '../../shared/operations/resolve-dead-letter.ts';
import { disableManifest, enableManifest } from '../../shared/operations/switch-manifest.ts';
import { trigger } from '../../shared/operations/trigger.ts';
import { checkInvariants } from '../support/check-invariants.ts';
import { clear, useEngine, workflowNamed } from '../support/engine.ts';
import { EngineModel } from './engine-model.ts';

const engine = useEngine();

/** A chain, a diamond's end, a once, a fast and a slow interval, a catch-up: enough for every rule to meet every other. */
const interval = (intervalSeconds: number) => ({ type: 'interval', intervalSeconds, anchor: 'occurrence' }) as const;
const WORLD: (Partial<ManifestDefinition> & { externalId: string })[] = [
  { externalId: 'fast', schedule: interval(20), group: 'one' },
  { externalId: 'slow', schedule: interval(90), group: 'two' },
  { externalId: 'after-fast', schedule: { type: 'dependent', dependsOn: ['fast'], mode: 'all' } as const, group: 'one' },
  { externalId: 'after-both', schedule: { type: 'dependent', dependsOn: ['fast', 'slow'], mode: 'all' } as const, group: 'three' },
  { externalId: 'after-any', schedule: { type: 'dependent', dependsOn: ['after-fast', 'slow'], mode: 'any' } as const, group: 'three' },
  { externalId: 'once', schedule: { type: 'once', runAt: '2026-03-02T00:01:00Z' } as const, group: 'two' },
  { externalId: 'catch-up', schedule: interval(30), group: 'four', misfire: { policy: 'fire_all', limit: 3 } as const },
];
const parents = new Map(WORLD.map(({ externalId, schedule }) => [externalId, schedule?.type === 'dependent' ? schedule.dependsOn : []]));
const names = WORLD.map(({ externalId }) => externalId);
const groups = ['one', 'two', 'three', 'four'];

const command = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('advance' as const), seconds: fc.integer({ min: 1, max: 60 }) }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('manage' as const) }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('dispatch' as const) }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('deliver' as const), times: fc.integer({ min: 0, max: 3 }), fails: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('crash' as const) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('trigger' as const),
      name: fc.constantFrom(...names),
      input: fc.option(fc.integer()),
      delaySeconds: fc.constantFrom(0, 0, 25),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('enable' as const, 'disable' as const), name: fc.constantFrom(...names) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('group' as const),
      name: fc.constantFrom(...groups),
      isEnabled: fc.boolean(),
      maxActiveJobs: fc.constantFrom(null, 1, 2),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constantFrom('cancel-execution' as const, 'cancel-entry' as const, 'retry' as const, 'acknowledge' as const),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('redeploy' as const), without: fc.option(fc.constantFrom('after-any', 'catch-up')) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('delete-parent' as const), name: fc.constantFrom('fast', 'slow', 'after-fast') }),
  },
);
type Command = typeof command extends fc.Arbitrary<infer C> ? C : never;

const person = () => ({
  database: engine.database,
  doorbell: engine.doorbell,
  initiator: { type: 'user' as const, id: 'p', name: 'person' },
});
const work = (fails: boolean) => [
  workflowNamed('work', () => {
    if (fails) throw new Error('no');
    return {};
  }),
];
const oldest = async (statement: ReturnType<typeof sql>) => (await engine.rows<{ id: string }>(statement))[0]?.id ?? '0';

/** Does it, and tells the model what was answered. */
async function act(one: Command, model: EngineModel): Promise<unknown> {
  switch (one.do) {
    case 'advance':
      return engine.clock.advance(one.seconds);
    case 'manage':
      return manage(model);
    case 'dispatch':
      return dispatch(model);
    case 'deliver': {
      const ids = engine.doorbell.bells.splice(0).map(({ executionId }) => executionId);
      const answers = await Promise.all(Array.from({ length: one.times }, () => engine.execute(ids, work(one.fails))));
      return model.ended(answers.flat());
    }
    case 'crash': {
      const ids = engine.doorbell.bells.splice(0, 2).map(({ executionId }) => executionId as ExecutionId);
      return claimExecutions(engine.database, { ids, leaseToken: randomUUID(), leaseSeconds: 45, requestId: randomUUID(), logStream: 'l' });
    }
    case 'trigger': {
      const { queueEntryId } = await trigger(person(), {
        externalId: one.name,
        delaySeconds: one.delaySeconds,
        ...(one.input === null ? {} : { input: one.input }),
      });
      return model.asked(queueEntryId);
    }
    case 'enable':
      return enableManifest(person(), one.name);
    case 'disable':
      return disableManifest(person(), one.name);
    case 'group':
      return changeGroup(person(), one.name, { isEnabled: one.isEnabled, maxActiveJobs: one.maxActiveJobs });
    case 'cancel-execution': {
      const [oldestRun] = await engine.rows<{ id: ExecutionId; manifestId: ManifestId }>(
        sql`select id, manifest_id as "manifestId" from waybill.execution where finished_at is null order by id limit 1`,
      );
      const { outcome } = await cancelExecution(person(), String(oldestRun?.id ?? 0));
      if (outcome === 'cancelled') model.ended([{ executionId: oldestRun!.id, manifestId: oldestRun!.manifestId, state: 'cancelled' }]);
      return;
    }
    case 'cancel-entry':
      return cancelEntry(person(), await oldest(sql`select id::text from waybill.work_queue where status = 'queued' order by id limit 1`));
    case 'retry':
      return retryDeadLetter(
        person(),
        await oldest(sql`select id::text from waybill.dead_letter where status = 'awaiting_intervention' order by id limit 1`),
      );
    case 'acknowledge':
      return acknowledgeDeadLetter(
        person(),
        await oldest(sql`select id::text from waybill.dead_letter where status = 'awaiting_intervention' order by id limit 1`),
      );
    case 'redeploy':
      return engine.sync(WORLD.filter(({ externalId }) => externalId !== one.without));
    case 'delete-parent':
      return removeManifest(person(), one.name);
  }
}

const manage = async (model: EngineModel) => model.ended((await engine.manage()).recovered);
const dispatch = async (model: EngineModel) => model.admitted((await engine.dispatch()).admissions);

/** Everybody does what is to be done, and nothing fails. */
async function goOn(model: EngineModel, seconds: number): Promise<void> {
  await manage(model);
  await dispatch(model);
  model.ended(await engine.deliver(work(false)));
  engine.clock.advance(seconds);
}

/** Everything is switched on, nothing fails any more, and time goes on: whatever was asked for must now come to an end. */
async function settle(model: EngineModel): Promise<void> {
  await engine.sync(WORLD);
  for (const name of groups) await changeGroup(person(), name, { isEnabled: true, maxActiveJobs: null });
  for (const name of names) await enableManifest(person(), name);
  for (const { id } of await engine.rows<{ id: string }>(
    sql`select id::text from waybill.dead_letter where status = 'awaiting_intervention'`,
  )) {
    await acknowledgeDeadLetter(person(), id);
  }
  for (let round = 0; round < 14; round++) await goOn(model, 15);
  // No further ticks: what remains must drain completely. Parents stay switched on, or nobody would be waiting for their successes any more.
  await engine.database.query(
    sql`update waybill.manifest set next_occurrence_at = null, next_due_at = null where schedule_type in ('interval', 'cron')`,
  );
  for (let round = 0; round < 12; round++) await goOn(model, 5);
}

it('whatever people, clocks and crashes do, the invariants hold, the model agrees, and everything comes to an end', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(command, { minLength: 8, maxLength: 30 }), async (commands) => {
      engine.clock.set('2026-03-02T00:00:00Z');
      engine.doorbell.bells.length = 0;
      await clear(engine);
      await engine.sync(WORLD);
      const model = new EngineModel(engine, parents);
      for (const one of commands) {
        try {
          await act(one, model);
        } catch (error) {
          // A refusal is an answer: what was asked for is not there, or not possible now.
          if (!(error instanceof ConflictError || error instanceof NotFoundError)) throw error;
        }
        await engine.database.transaction((db) => checkInvariants(db, { kinds: ['always'] }));
        await model.check();
      }
      await settle(model);
      await model.check();
      await engine.database.transaction((db) => checkInvariants(db, { kinds: ['always', 'eventually'] }));
      expect(await engine.rows(sql`select id, state, manifest_id from waybill.execution where finished_at is null`)).toEqual([]);
      expect(await engine.rows(sql`select id, lane, origin from waybill.work_queue where status = 'queued'`)).toEqual([]);
      expect(
        await engine.rows(sql`
          select c.external_id from waybill.manifest c
           where c.schedule_type = 'dependent' and c.deleted_at is null
             and case when c.dependency_mode = 'any' then
                   exists (select from waybill.manifest_dependency d join waybill.manifest p on p.id = d.parent_id
                            where d.child_id = c.id and p.is_enabled and p.success_count > d.consumed_success_count)
                 else not exists (select from waybill.manifest_dependency d join waybill.manifest p on p.id = d.parent_id
                                   where d.child_id = c.id and not (p.is_enabled and p.success_count > d.consumed_success_count)) end`),
      ).toEqual([]);
    }),
    { numRuns: 12, interruptAfterTimeLimit: 120_000, markInterruptAsFailure: true },
  );
}, 180_000);
