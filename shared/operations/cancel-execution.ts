import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import { ConflictError, NotFoundError } from '../errors.ts';
import type { ExecutionId, WorkQueueId } from '../model/ids.ts';
import { cancelEntries } from '../transitions/cancel-entries.ts';
import { endRuns, type Outcome } from '../transitions/end-runs.ts';
import { lockConcerned } from '../transitions/lock-concerned.ts';
import { lockPlans } from '../transitions/plans/lock-plans.ts';
import type { OperationContext } from './context.ts';
import { isId } from './paging.ts';
import { recordAudit } from './record-audit.ts';

/**
 * Stops an execution. One that nobody has started is cancelled now; a running one is asked to stop, which its signal hears within one renewal of its lease, and ends
 * cancelled even if it dies on the way. A cancelled run consumes its occurrence and is not retried.
 *
 * Locks are taken in the order of plans, manifests, entries, executions, before anything is decided; what endRuns locks again is held by then.
 */
export async function cancelExecution(
  { database, doorbell, initiator }: OperationContext,
  executionId: string,
): Promise<{ outcome: 'cancelled' | 'requested' }> {
  const outcome = await database.transaction(async (db) => {
    const found = isId(executionId) ? await findExecution(db, executionId) : undefined;
    if (!found)
      throw new NotFoundError('execution_not_found', `execution '${executionId}' does not exist: GET /v1/executions lists those that do`);
    if (found.isNested)
      throw new ConflictError(
        'nested_run',
        `execution '${executionId}' runs inside of execution '${found.parentId}' and under its lease: cancel that one`,
      );
    const reached = found.isPlan ? await cancelPlan(db, found.id) : await cancelOne(db, found.id);
    if (!reached) throw new ConflictError('already_finished', `execution '${executionId}' has already ended: there is nothing to cancel`);
    await recordAudit(db, initiator, { action: 'execution.cancel', targetType: 'execution', target: executionId });
    return { reached, freesSlots: reached === 'cancelled' || found.isPlan };
  });
  if (outcome.freesSlots) await Promise.all([doorbell.pokeDispatcher(), doorbell.pokeManager()]);
  return { outcome: outcome.reached };
}

type Reached = 'cancelled' | 'requested' | undefined;

/** Undefined means that it has ended. The step of a plan counts as failed, unless its plan tolerates that; its plan goes on or ends with it. */
async function cancelOne(db: Db, executionId: ExecutionId): Promise<Reached> {
  const outcome: Outcome = { executionId, leaseToken: null, isUnclaimed: true, state: 'cancelled' };
  const planIds = await lockPlans(db, { planIds: [], stepIds: [executionId] });
  await lockConcerned(db, { outcomes: [outcome], planIds, stoppedPlanIds: [] });
  const queued = await lockEntry(db, executionId);
  const state = await lockExecution(db, executionId);
  if (queued.length) await cancelEntries(db, { ids: queued }, 'its execution was cancelled');
  if (state === 'waiting' || state === 'pending') return (await endRuns(db, [outcome])).length ? 'cancelled' : undefined;
  if (state !== 'in_progress') return undefined;
  await db.query(sql`
    update waybill.execution set cancel_requested_at = coalesce(cancel_requested_at, waybill.now()) where id = ${executionId}`);
  return 'requested';
}

/** Its steps that nobody has started are cancelled now, those that run are asked to stop; the plan ends with the last of them. */
async function cancelPlan(db: Db, planId: ExecutionId): Promise<Reached> {
  await lockPlans(db, { planIds: [planId], stepIds: [] });
  const [unfinished] = await db.query(sql`select from waybill.execution where id = ${planId} and finished_at is null`);
  if (!unfinished) return undefined;
  const ended = await endRuns(db, [], { stop: [{ planId }] });
  return ended.some((run) => run.executionId === planId) ? 'cancelled' : 'requested';
}

interface Found {
  id: ExecutionId;
  parentId: string | null;
  isNested: boolean;
  isPlan: boolean;
}

async function findExecution(db: Db, id: string): Promise<Found | undefined> {
  const [found] = await db.query<Found>(sql`
    select id, parent_id::text as "parentId", parent_id is not null and group_index is null as "isNested", group_count is not null as "isPlan"
      from waybill.execution where id = ${id}::bigint`);
  return found;
}

/**
 * Holds the entry through which it was admitted, and will be again if it sleeps; gives it if it is queued. Before the execution: whoever puts it to sleep or wakes it holds both, in this
 * order.
 */
async function lockEntry(db: Db, id: ExecutionId): Promise<WorkQueueId[]> {
  const entries = await db.query<{ id: WorkQueueId; isQueued: boolean }>(sql`
    select w.id, w.status = 'queued' as "isQueued" from waybill.work_queue w
     where w.id = (select e.work_queue_id from waybill.execution e where e.id = ${id}) or (w.execution_id = ${id} and w.status = 'queued')
     order by w.id for no key update`);
  return entries.filter(({ isQueued }) => isQueued).map((entry) => entry.id);
}

/** What it is now, and stays until the commit: between two looks it may be claimed, handed back, put to sleep or woken. */
async function lockExecution(db: Db, id: ExecutionId): Promise<string | undefined> {
  const [execution] = await db.query<{ state: string }>(sql`select state from waybill.execution where id = ${id} for no key update`);
  return execution?.state;
}
