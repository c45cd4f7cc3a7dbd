import type { Db } from '../db/database.ts';
import { firstLimit } from '../db/queries/of-run.ts';
import { statedPool } from '../db/queries/resolved-pool.ts';
import { sql } from '../db/sql.ts';
import { ConflictError, InvalidInputError, NotFoundError } from '../errors.ts';
import type { ManifestId, WorkQueueId } from '../model/ids.ts';
import type { Initiator } from '../model/initiator.ts';
import { consumeSuccesses } from '../transitions/consume-successes.ts';
import { markDue } from '../transitions/mark-due.ts';
import { checkInput } from './check-input.ts';
import type { OperationContext } from './context.ts';
import { lockManifestsById } from './lock-manifest.ts';
import { isId } from './paging.ts';
import { recordAudit } from './record-audit.ts';

interface Resolved {
  id: number;
  manifestId: ManifestId | null;
  counts: Record<string, number>;
}

/**
 * Tries a dead-lettered run again, in the retry place, with the input and counts that failed. An edited input starts a new run. For a plan this is to resume it: what its failed
 * execution has completed is not run again.
 */
export async function retryDeadLetter(
  context: OperationContext,
  id: string,
  { input }: { input?: unknown } = {},
): Promise<{ queueEntryId: string }> {
  checkInput(input);
  const entryId = await context.database.transaction(async (db) => {
    const resolved = await resolve(db, id, 'retried', null, context.initiator);
    await refuseUndeclared(db, resolved);
    if (input !== undefined) await refusePlan(db, resolved);
    const entry = await queueRetry(db, resolved.id, input, context.initiator);
    if (entry === undefined)
      throw new ConflictError('already_queued', `the manifest of dead letter '${id}' already has a retry in the queue`);
    if (resolved.manifestId !== null) await markDue(db, [resolved.manifestId]);
    await recordAudit(db, context.initiator, {
      action: 'dead_letter.retry',
      targetType: 'dead_letter',
      target: id,
      after: { isEdited: input !== undefined },
    });
    return entry;
  });
  await Promise.all([context.doorbell.pokeDispatcher(), context.doorbell.pokeManager()]);
  return { queueEntryId: String(entryId) };
}

/** Puts a dead letter aside, with a note: the run is given up, and the successes of parents it was for count as consumed. */
export async function acknowledgeDeadLetter(context: OperationContext, id: string, { note }: { note?: string } = {}): Promise<void> {
  await context.database.transaction(async (db) => {
    const resolved = await resolve(db, id, 'acknowledged', note?.slice(0, 2_000) ?? null, context.initiator);
    if (resolved.manifestId !== null) {
      await consumeSuccesses(db, [{ manifestId: resolved.manifestId, counts: resolved.counts }]);
      await markDue(db, [resolved.manifestId]);
    }
    await recordAudit(db, context.initiator, { action: 'dead_letter.acknowledge', targetType: 'dead_letter', target: id, after: { note } });
  });
  await Promise.all([context.doorbell.pokeDispatcher(), context.doorbell.pokeManager()]);
}

/** Resolution resets the count of failures, so that the next attempts are as many as the first. */
async function resolve(
  db: Db,
  id: string,
  status: 'retried' | 'acknowledged',
  note: string | null,
  initiator: Initiator,
): Promise<Resolved> {
  const [found] = isId(id)
    ? await db.query<{ manifestId: ManifestId | null }>(
        sql`select manifest_id as "manifestId" from waybill.dead_letter where id = ${id}::bigint`,
      )
    : [];
  if (!found)
    throw new NotFoundError('dead_letter_not_found', `dead letter '${id}' does not exist: GET /v1/dead-letters lists those that do`);
  await lockManifestsById(db, [found.manifestId]);
  const [resolved] = await db.query<Resolved>(sql`
    update waybill.dead_letter
       set status = ${status}, resolved_at = waybill.now(), resolution_note = ${note},
           resolved_by_type = ${initiator.type}, resolved_by_id = ${initiator.id}, resolved_by_name = ${initiator.name}
     where id = ${id}::bigint and status = 'awaiting_intervention'
    returning id, manifest_id as "manifestId", consumed_counts as counts`);
  if (!resolved) throw new ConflictError('already_resolved', `dead letter '${id}' has already been resolved`);
  if (resolved.manifestId !== null) await db.query(sql`update waybill.manifest set failed_count = 0 where id = ${resolved.manifestId}`);
  return resolved;
}

/** An entry of a manifest that is gone would never be admitted, and one that is going takes no further run. */
async function refuseUndeclared(db: Db, { id, manifestId }: Resolved): Promise<void> {
  if (manifestId === null) return;
  const [gone] = await db.query<{ externalId: string }>(sql`
    select external_id as "externalId" from waybill.manifest where id = ${manifestId} and (deleted_at is not null or retiring_at is not null)`);
  if (!gone) return;
  throw new ConflictError(
    'manifest_deleted',
    `manifest '${gone.externalId}' of dead letter '${id}' is no longer declared: acknowledge the dead letter instead`,
  );
}

async function refusePlan(db: Db, { id }: Resolved): Promise<void> {
  const [plan] = await db.query(sql`
    select from waybill.dead_letter d join waybill.execution e on e.id = d.execution_id where d.id = ${id} and e.group_count is not null`);
  if (!plan) return;
  throw new InvalidInputError(
    'invalid_request',
    `dead letter '${id}' is of a plan, whose steps have their own inputs: retry it without input, after the definition was changed if need be`,
  );
}

/**
 * The next attempts go by what the manifest says by now: somebody may have raised its timeout because of this very failure. A run without one keeps its own settings and gets as many
 * attempts as at first, counted from here on.
 */
async function queueRetry(db: Db, deadLetterId: number, input: unknown, initiator: Initiator): Promise<WorkQueueId | undefined> {
  const edited = input === undefined ? null : JSON.stringify(input);
  const [entry] = await db.query<{ id: WorkQueueId }>(sql`
    insert into waybill.work_queue (workflow_name, input, is_input_given, pool, manifest_id, group_id, run_id, attempt, priority, lane, origin, occurrence_at,
                                    dead_letter_id, max_attempts, timeout_seconds, backoff_initial_seconds, backoff_factor, backoff_max_seconds,
                                    backoff_jitter, consumed_counts, initiator_type, initiator_id, initiator_name)
    select e.workflow_name, coalesce(${edited}::jsonb, d.input), true, ${statedPool}, e.manifest_id, coalesce(m.group_id, e.group_id),
           case when ${edited}::jsonb is null then e.run_id end, case when ${edited}::jsonb is null then e.attempt + 1 else 1 end, e.priority, 'retry',
           'dead_letter', e.occurrence_at, d.id,
           coalesce(m.max_attempts, ${firstLimit} + case when ${edited}::jsonb is null then e.attempt else 0 end),
           case when e.manifest_id is null then e.timeout_seconds else m.timeout_seconds end,
           coalesce(m.backoff_initial_seconds, e.backoff_initial_seconds), coalesce(m.backoff_factor, e.backoff_factor),
           coalesce(m.backoff_max_seconds, e.backoff_max_seconds), coalesce(m.backoff_jitter, e.backoff_jitter), d.consumed_counts, ${initiator.type}, ${initiator.id}, ${initiator.name}
      from waybill.dead_letter d join waybill.execution e on e.id = d.execution_id left join waybill.manifest m on m.id = e.manifest_id
     where d.id = ${deadLetterId}
        on conflict do nothing
    returning id`);
  return entry?.id;
}
