import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { ExecutionId } from '../model/ids.ts';
import { type EndedRun, endRuns, type Outcome } from '../transitions/end-runs.ts';
import { parkNestedRuns } from '../transitions/park-nested-runs.ts';
import type { CycleContext } from './cycle.ts';
import { findLatePlans, findRestingPlans } from './find-plans.ts';

const LIMIT = 200;
/** As many bells without an answer as this, and something is wrong that another bell cannot mend. */
const MOST_RINGS = 10;

/**
 * Ends what nobody will end any more: runs whose executor has not been heard of since its lease ran out, and executions that no bell could start. A lost lease is a
 * failed attempt; but runs that were lost together, in one invocation, are handed back and run alone, since one of them may have killed the others. Plans that ran out of time are stopped, and
 * one that nothing moves goes on; all of it as one set, whose locks are taken once and in order.
 */
export async function recoverExpiredLeases(_: object, { db }: CycleContext): Promise<{ recovered: EndedRun[] }> {
  const lost = await findLost(db);
  const alone = lost.filter(({ isAlone }) => isAlone).map(({ id }) => fail(id));
  const plans = { stop: await findLatePlans(db), advance: await findRestingPlans(db) };
  const recovered = await endRuns(db, [...alone, ...(await findNeverStarted(db))], plans);
  await handBack(
    db,
    lost.filter(({ isAlone }) => !isAlone).map(({ id }) => id),
  );
  return { recovered };
}

interface Lost {
  id: ExecutionId;
  isAlone: boolean;
}

/** Looks without locks; whoever ends or hands back checks again. */
function findLost(db: Db): Promise<Lost[]> {
  return db.query<Lost>(sql`
    select e.id, e.is_solo or e.request_id is null or e.cancel_requested_at is not null or not exists (
             select from waybill.execution o
              where o.state = 'in_progress' and o.lease_expires_at < waybill.now() and o.lease_expires_at is not null
                and o.request_id = e.request_id and o.id <> e.id) as "isAlone"
      from waybill.execution e
     where e.state = 'in_progress' and e.lease_expires_at < waybill.now() and e.lease_expires_at is not null
     order by e.lease_expires_at limit ${LIMIT}`);
}

function fail(executionId: ExecutionId): Outcome {
  const message = 'the executor stopped renewing its lease: it was killed, ran out of memory or lost its network';
  return { executionId, leaseToken: null, state: 'failed', failure: { code: 'lease_lost', message } };
}

/**
 * The same attempt goes on, in an invocation of its own. What it ran there does not count towards its timeout: nobody knows how much of it was the wait for the lease to run out, which
 * is longer than many a timeout; and it happens once, since a run that is lost alone has failed. It comes after endRuns, which locks manifests: whoever holds executions must not wait for a manifest.
 */
async function handBack(db: Db, ids: ExecutionId[]): Promise<void> {
  if (!ids.length) return;
  const handedBack = await db.query<{ id: ExecutionId }>(sql`
    with held as (
      select id from waybill.execution
       where id = any(${ids}::bigint[]) and state = 'in_progress' and lease_expires_at < waybill.now()
       order by id for no key update skip locked
    )
    update waybill.execution e
       set state = 'pending', is_solo = true, lease_token = null, lease_expires_at = null, claimed_at = null, sent_at = null, ring_count = 0
      from held where e.id = held.id and e.state = 'in_progress'
    returning e.id`);
  await parkNestedRuns(
    db,
    handedBack.map(({ id }) => id),
  );
}

async function findNeverStarted(db: Db): Promise<Outcome[]> {
  const silent = await db.query<{ id: ExecutionId; pool: string }>(sql`
    select id, pool from waybill.execution
     where state = 'pending' and ring_count >= ${MOST_RINGS} and group_count is null
       and sent_at < waybill.now() - interval '5 minutes'
     order by created_at limit ${LIMIT}`);
  return silent.map(({ id, pool }) => ({
    executionId: id,
    leaseToken: null,
    isUnclaimed: true,
    state: 'failed',
    failure: { code: 'never_started', message: describeSilence(pool), isFinal: true },
  }));
}

function describeSilence(pool: string): string {
  return `nobody answered ${MOST_RINGS} bells for pool '${pool}': the stack no longer has it, or its executors fail before they start or are throttled; see their logs and the pool's dead-letter queue`;
}
