import { randomInt, randomUUID } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';
import type { Database } from '../../shared/db/database.ts';
import { sql } from '../../shared/db/sql.ts';
import { WaybillError } from '../../shared/errors.ts';
import { claimExecutions } from '../../shared/executor/claim-executions.ts';
import { findRestingPlans } from '../../shared/manager/find-plans.ts';
import type { ExecutionId } from '../../shared/model/ids.ts';
import { cancelExecution } from '../../shared/operations/cancel-execution.ts';
import { endRuns, type Outcome } from '../../shared/transitions/end-runs.ts';
import { checkInvariants } from '../support/check-invariants.ts';
import type { PlanWorld } from './use-plans.ts';

export interface Storm {
  world: PlanWorld;
  /** What the finishers write to: the real one, or one with something missing. */
  database: Database;
  planCount: number;
  finisherCount: number;
  seconds: number;
}

export interface StormFigures {
  errors: unknown[];
  /** How often each execution was claimed by somebody new. */
  claims: Map<ExecutionId, number>;
  /** Plans that were seen, in a committed state, with nothing that would move them. */
  stuck: Set<ExecutionId>;
  cancelRequestCount: number;
  lostCount: number;
  deadlockCount: number;
  lookCount: number;
}

/** So many plans of three groups with seven steps, each with an entry in the queue; every third step tolerates its failure, every second is tried twice. */
export async function plantPlans({ database }: Pick<PlanWorld, 'database'>, count: number): Promise<void> {
  await database.query(sql`insert into waybill.manifest_group (name) select 'storm-' || n from generate_series(0, 9) n`);
  await database.query(sql`
    insert into waybill.manifest (external_id, kind, group_id, owner, schedule_type, max_attempts, backoff_initial_seconds, backoff_jitter)
    select 'plan-' || n, 'plan', g.id, 'plans', 'none', 1000, n % 2, 0
      from generate_series(1, ${count}::int) n join waybill.manifest_group g on g.name = 'storm-' || n % 10`);
  await database.query(sql`
    insert into waybill.plan_step (plan_id, group_index, position, name, workflow_name, group_id, continue_on_failure, max_attempts)
    select m.id, s.group_index, s.position, s.group_index || '.' || s.position, 'work', m.group_id, (m.id + s.position) % 3 = 0, 1 + (m.id + s.position) % 2
      from waybill.manifest m, (values (0, 0), (0, 1), (1, 0), (1, 1), (1, 2), (2, 0), (2, 1)) s (group_index, position)
     where m.kind = 'plan'`);
  await database.query(sql`
    insert into waybill.work_queue (manifest_id, group_id, origin, max_attempts, backoff_initial_seconds, backoff_jitter, initiator_type)
    select id, group_id, 'manual', max_attempts, backoff_initial_seconds, backoff_jitter, 'user' from waybill.manifest where kind = 'plan'`);
}

/** Lets many finish steps at once, some of them twice, some never, while others dispatch, recover, cancel, look and pass the time, until every plan has ended. */
export async function stormPlans({ world, database, planCount, finisherCount, seconds }: Storm): Promise<StormFigures> {
  const figures: StormFigures = {
    errors: [],
    claims: new Map(),
    stuck: new Set(),
    cancelRequestCount: 0,
    lostCount: 0,
    deadlockCount: 0,
    lookCount: 0,
  };
  await plantPlans(world, planCount);
  const deadlocksBefore = await countDeadlocks(world.database);
  const giveUpAt = Date.now() + seconds * 1000;
  let isOver = false;

  async function keepDoing(deed: () => Promise<unknown>): Promise<void> {
    while (!isOver && !figures.errors.length) {
      try {
        await deed();
      } catch (error) {
        if (!(error instanceof WaybillError)) figures.errors.push(error);
      }
      await turn();
    }
  }

  /** Of the bells of any plans; now and then it leaves one in the queue, so that it comes twice. */
  function takeBells(): ExecutionId[] {
    const { bells } = world.doorbell;
    return Array.from({ length: Math.min(1 + randomInt(3), bells.length) }, () => {
      const place = randomInt(bells.length);
      const [bell] = randomInt(5) === 0 ? [bells[place]!] : bells.splice(place, 1);
      return bell!.executionId;
    });
  }

  async function finish(): Promise<void> {
    if (!world.doorbell.bells.length) return void (await world.rows(sql`select`));
    const leaseToken = randomUUID();
    const claim = { ids: [...new Set(takeBells())], leaseToken, leaseSeconds: 45, requestId: randomUUID(), logStream: 'l' };
    const { claimed } = await claimExecutions(database, claim);
    for (const { id } of claimed) figures.claims.set(id, (figures.claims.get(id) ?? 0) + 1);
    const outcomes = claimed.flatMap(({ id, planId }): Outcome[] => {
      const luck = randomInt(40);
      if (luck === 0) figures.lostCount++;
      if (luck === 0) return [];
      if (luck < 6) return [{ executionId: id, planId, leaseToken, state: 'failed', failure: { code: 'thrown', message: 'bad luck' } }];
      return [{ executionId: id, leaseToken, state: luck < 9 ? 'completed_with_warnings' : 'completed' }];
    });
    // Some outcomes are recorded twice, and at the same time.
    const record = () => database.transaction((db) => endRuns(db, outcomes));
    await Promise.all(randomInt(5) === 0 ? [record(), record()] : [record()]);
  }

  async function cancelSomething(): Promise<void> {
    const [found] = await world.rows<{ id: string; isPlan: boolean }>(sql`
      select id::text, group_count is not null as "isPlan" from waybill.execution where finished_at is null
       order by ${randomInt(2) === 0} and group_count is not null desc, random() limit 1`);
    if (!found || randomInt(8)) return;
    await cancelExecution({ ...world.context, database }, found.id);
    if (found.isPlan) figures.cancelRequestCount++;
  }

  async function look(): Promise<void> {
    figures.lookCount++;
    for (const id of await findRestingPlans(world.database)) figures.stuck.add(id);
    await world.database.transaction((db) => checkInvariants(db, { kinds: ['always'] }));
    const [open] = await world.rows(
      sql`select from waybill.execution where finished_at is null union all select from waybill.work_queue where status = 'queued' limit 1`,
    );
    isOver ||= !open || figures.stuck.size > 0 || Date.now() > giveUpAt;
  }

  async function passTime(): Promise<void> {
    world.clock.advance(0.2);
    await world.rows(sql`select`);
  }

  await Promise.all([
    ...Array.from({ length: finisherCount }, () => keepDoing(finish)),
    keepDoing(world.dispatch),
    keepDoing(world.manage),
    keepDoing(cancelSomething),
    keepDoing(look),
    keepDoing(passTime),
  ]);
  figures.deadlockCount = (await countDeadlocks(world.database)) - deadlocksBefore;
  return figures;
}

async function countDeadlocks(database: Database): Promise<number> {
  const [row] = await database.query<{ deadlocks: number }>(sql`select deadlocks from pg_stat_database where datname = current_database()`);
  return row?.deadlocks ?? 0;
}

/** A database in whose transactions plans are not locked. */
export function withoutPlanLock(database: Database): Database & { strippedCount(): number } {
  let count = 0;
  const lock = 'order by plan.id for no key update';
  return {
    ...database,
    strippedCount: () => count,
    transaction: (work) =>
      database.transaction((db) =>
        work({
          query: (statement) => {
            if (!statement.text.includes(lock)) return db.query(statement);
            count++;
            return db.query({ ...statement, text: statement.text.replace(lock, 'order by plan.id') });
          },
        }),
      ),
  };
}
