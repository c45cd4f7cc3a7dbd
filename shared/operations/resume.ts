import type { Db } from '../db/database.ts';
import { isOfRun } from '../db/queries/of-run.ts';
import { sql } from '../db/sql.ts';
import { ConflictError, NotFoundError } from '../errors.ts';
import type { ExecutionId, WorkQueueId } from '../model/ids.ts';
import type { Initiator } from '../model/initiator.ts';
import type { OperationContext } from './context.ts';
import { lockRunnableManifest } from './lock-manifest.ts';
import { isId } from './paging.ts';
import { recordAudit } from './record-audit.ts';
import { retryDeadLetter } from './resolve-dead-letter.ts';

/**
 * Lets a plan go on where it ended badly: a new execution of the same run, for the same occurrence, in which the steps that succeeded are taken over and the others run as the
 * definition says by now. It takes the retry place, so it goes before whatever else is queued. If the plan was dead-lettered, resuming it is to retry its dead letter.
 */
export async function resume(context: OperationContext, executionId: string): Promise<{ queueEntryId: string }> {
  const { database, doorbell, initiator } = context;
  const placed = await database.transaction(async (db) => {
    const { id, externalId } = await findPlan(db, executionId);
    await lockRunnableManifest(db, externalId);
    await holdRun(db, id);
    const deadLetterId = await checkResumable(db, id, externalId);
    if (deadLetterId !== null) return { deadLetterId };
    const entryId = await queueResumption(db, id, initiator);
    if (entryId === undefined)
      throw new ConflictError(
        'already_queued',
        `plan '${externalId}' is already about to be resumed: cancel that entry of the queue first`,
      );
    await recordAudit(db, initiator, {
      action: 'execution.resume',
      targetType: 'execution',
      target: executionId,
      after: { queueEntryId: String(entryId) },
    });
    return { entryId };
  });
  if (placed.deadLetterId !== undefined) return retryDeadLetter(context, placed.deadLetterId);
  await doorbell.pokeDispatcher();
  return { queueEntryId: String(placed.entryId) };
}

interface FoundPlan {
  id: ExecutionId;
  externalId: string;
}

async function findPlan(db: Db, executionId: string): Promise<FoundPlan> {
  const [found] = isId(executionId)
    ? await db.query<FoundPlan & { isPlan: boolean; isDeleted: boolean; planId: string | null }>(sql`
        select e.id, m.external_id as "externalId", e.group_count is not null as "isPlan", m.deleted_at is not null as "isDeleted",
               case when e.group_index is not null then e.parent_id::text end as "planId"
          from waybill.execution e left join waybill.manifest m on m.id = e.manifest_id where e.id = ${executionId}::bigint`)
    : [];
  if (!found) throw notFound(executionId);
  if (found.planId !== null)
    throw new ConflictError(
      'not_a_plan',
      `execution '${executionId}' is a step of the plan in execution '${found.planId}': resume that one`,
    );
  if (!found.isPlan)
    throw new ConflictError('not_a_plan', `execution '${executionId}' is not of a plan, so it cannot be resumed: rerun it`);
  if (found.isDeleted)
    throw new ConflictError('manifest_deleted', `plan '${found.externalId}' of execution '${executionId}' no longer exists`);
  return found;
}

/** Housekeeping removes no run of which somebody holds an attempt; one that it was faster with is gone. */
async function holdRun(db: Db, id: ExecutionId): Promise<void> {
  const held = await db.query(sql`select from waybill.execution where id = ${id} for key share`);
  if (!held.length) throw notFound(String(id));
}

const notFound = (id: string) =>
  new NotFoundError('execution_not_found', `execution '${id}' does not exist: GET /v1/executions lists those that do`);

interface Standing {
  state: string;
  isFinished: boolean;
  laterId: string | null;
  deadLetter: { id: string; executionId: string } | null;
}

/** Judged under the manifest's lock, in a statement after it. Gives the dead letter through which the plan is to be resumed, if there is one. */
async function checkResumable(db: Db, id: ExecutionId, externalId: string): Promise<string | null> {
  const [standing] = await db.query<Standing>(sql`
    select e.state, e.finished_at is not null as "isFinished",
           (select max(o.id)::text from waybill.execution o where ${isOfRun(sql`o`, sql`e.run_id`)} and o.parent_id is null and o.attempt > e.attempt) as "laterId",
           (select json_build_object('id', d.id::text, 'executionId', d.execution_id::text) from waybill.dead_letter d
             where d.manifest_id = e.manifest_id and d.manifest_id is not null and d.status = 'awaiting_intervention') as "deadLetter"
      from waybill.execution e where e.id = ${id}`);
  const { state, isFinished, laterId, deadLetter } = standing!;
  if (!isFinished)
    throw new ConflictError('still_running', `execution '${id}' of plan '${externalId}' has not ended: there is nothing to resume`);
  if (state === 'completed' || state === 'completed_with_warnings')
    throw new ConflictError(
      'already_completed',
      `execution '${id}' of plan '${externalId}' has succeeded: rerun it to begin from the first step`,
    );
  if (laterId !== null)
    throw new ConflictError(
      'already_resumed',
      `execution '${id}' of plan '${externalId}' was resumed by execution '${laterId}': look at that one`,
    );
  if (!deadLetter) return null;
  if (deadLetter.executionId === String(id)) return deadLetter.id;
  throw new ConflictError(
    'dead_letter_awaits',
    `plan '${externalId}' is held by dead letter '${deadLetter.id}' of execution '${deadLetter.executionId}': resolve that one first`,
  );
}

/** Undefined means that the retry place is taken. The attempt tells what to take over from: the one before. */
async function queueResumption(db: Db, id: ExecutionId, initiator: Initiator): Promise<WorkQueueId | undefined> {
  const [entry] = await db.query<{ id: WorkQueueId }>(sql`
    insert into waybill.work_queue (input, is_input_given, manifest_id, group_id, run_id, attempt, priority, lane, origin, occurrence_at, max_attempts, timeout_seconds,
                                    backoff_initial_seconds, backoff_factor, backoff_max_seconds, backoff_jitter, consumed_counts,
                                    initiator_type, initiator_id, initiator_name)
    select e.input, true, m.id, m.group_id, e.run_id, e.attempt + 1, e.priority, 'retry', 'manual', e.occurrence_at, m.max_attempts, m.timeout_seconds,
           m.backoff_initial_seconds, m.backoff_factor, m.backoff_max_seconds, m.backoff_jitter, e.consumed_counts,
           ${initiator.type}, ${initiator.id}, ${initiator.name}
      from waybill.execution e join waybill.manifest m on m.id = e.manifest_id
     where e.id = ${id}
        on conflict do nothing
    returning id`);
  return entry?.id;
}
