import { sql } from '../db/sql.ts';
import { ConflictError, NotFoundError } from '../errors.ts';
import type { ExecutionId, ManifestId } from '../model/ids.ts';
import { cancelEntries } from '../transitions/cancel-entries.ts';
import { endRuns } from '../transitions/end-runs.ts';
import type { OperationContext } from './context.ts';
import { lockManifestsById } from './lock-manifest.ts';
import { isId } from './paging.ts';
import { recordAudit } from './record-audit.ts';

/**
 * Stops an execution. One that nobody has started is cancelled now; a running one is asked to stop, which its signal hears within one renewal of its lease, and ends
 * cancelled even if it dies on the way. A cancelled run consumes its occurrence and is not retried.
 */
export async function cancelExecution(
  { database, doorbell, initiator }: OperationContext,
  executionId: string,
): Promise<{ outcome: 'cancelled' | 'requested' }> {
  const outcome = await database.transaction(async (db) => {
    const [found] = isId(executionId)
      ? await db.query<{ id: ExecutionId; manifestId: ManifestId | null }>(
          sql`select id, manifest_id as "manifestId" from waybill.execution where id = ${executionId}::bigint`,
        )
      : [];
    if (!found)
      throw new NotFoundError('execution_not_found', `execution '${executionId}' does not exist: GET /v1/executions lists those that do`);
    await lockManifestsById(db, [found.manifestId]);
    const [sleeping] = await db.query<{ id: number }>(sql`
      select id from waybill.work_queue where execution_id = ${found.id} and status = 'queued'`);
    if (sleeping) await cancelEntries(db, { ids: [sleeping.id as never] }, 'its execution was cancelled');
    const [ended] = await endRuns(db, [{ executionId: found.id, leaseToken: null, isUnclaimed: true, state: 'cancelled' }]);
    const requested = ended
      ? []
      : await db.query(sql`
      update waybill.execution set cancel_requested_at = coalesce(cancel_requested_at, waybill.now()) where id = ${found.id} and state = 'in_progress' returning id`);
    if (!ended && !requested.length)
      throw new ConflictError('already_finished', `execution '${executionId}' has already ended: there is nothing to cancel`);
    await recordAudit(db, initiator, { action: 'execution.cancel', targetType: 'execution', target: executionId });
    return ended ? ('cancelled' as const) : ('requested' as const);
  });
  if (outcome === 'cancelled') await Promise.all([doorbell.pokeDispatcher(), doorbell.pokeManager()]);
  return { outcome };
}
