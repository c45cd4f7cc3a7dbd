import { firstLimit } from '../db/queries/of-run.ts';
import { entryPool } from '../db/queries/resolved-pool.ts';
import { sql } from '../db/sql.ts';
import { ConflictError, NotFoundError } from '../errors.ts';
import type { WorkQueueId } from '../model/ids.ts';
import { reclaimGroups } from '../transitions/reclaim-groups.ts';
import { checkDeployed } from './check-deployed.ts';
import type { OperationContext } from './context.ts';
import { lockRunnableManifest } from './lock-manifest.ts';
import { isId } from './paging.ts';
import { queueManualEntry } from './queue-manual-entry.ts';
import { recordAudit } from './record-audit.ts';

interface Original {
  externalId: string | null;
  isDeleted: boolean;
  isChild: boolean;
  workflow: string;
  input: unknown;
}

/** Runs an execution's input once more, as a new run: it takes its manifest's fresh place, or is refused if that is taken. */
export async function rerun({ database, doorbell, initiator }: OperationContext, executionId: string): Promise<{ queueEntryId: string }> {
  const id = await database.transaction(async (db) => {
    const [original] = isId(executionId)
      ? await db.query<Original>(sql`
          select m.external_id as "externalId", m.deleted_at is not null as "isDeleted", e.parent_id is not null as "isChild",
                 e.workflow_name as workflow, e.input
            from waybill.execution e left join waybill.manifest m on m.id = e.manifest_id where e.id = ${executionId}::bigint`)
      : [];
    if (!original)
      throw new NotFoundError('execution_not_found', `execution '${executionId}' does not exist: GET /v1/executions lists those that do`);
    if (original.isChild) throw new ConflictError('not_rerunnable', `execution '${executionId}' is a part of another one: rerun the whole`);
    if (original.isDeleted)
      throw new ConflictError('manifest_deleted', `manifest '${original.externalId}' of execution '${executionId}' no longer exists`);
    const entry =
      original.externalId === null ? await queueAdHocAgain(original.workflow) : await queueAgain(original.externalId, original.input);
    await recordAudit(db, initiator, {
      action: 'execution.rerun',
      targetType: 'execution',
      target: executionId,
      after: { queueEntryId: String(entry) },
    });
    return entry;

    async function queueAgain(externalId: string, input: unknown): Promise<WorkQueueId> {
      const manifest = await lockRunnableManifest(db, externalId);
      const queued = await queueManualEntry(db, { manifestId: manifest.id, input, lane: 'fresh', delaySeconds: 0, initiator });
      if (queued === undefined)
        throw new ConflictError(
          'already_queued',
          `manifest '${externalId}' already has an entry in the queue: wait until it has run, or cancel it first`,
        );
      return queued;
    }

    async function queueAdHocAgain(workflow: string): Promise<WorkQueueId> {
      await checkDeployed(db, workflow);
      const [queued] = await db.query<{ id: WorkQueueId }>(sql`
        insert into waybill.work_queue (workflow_name, input, is_input_given, pool, group_id, priority, lane, origin, max_attempts, timeout_seconds,
                                        backoff_initial_seconds, backoff_factor, backoff_max_seconds, backoff_jitter, initiator_type, initiator_id, initiator_name)
        select e.workflow_name, e.input, true, ${entryPool}, e.group_id, e.priority, 'fresh', 'manual', ${firstLimit}, e.timeout_seconds,
               e.backoff_initial_seconds, e.backoff_factor, e.backoff_max_seconds, e.backoff_jitter, ${initiator.type}, ${initiator.id}, ${initiator.name}
          from waybill.execution e join waybill.manifest_group g on g.id = e.group_id
         where e.id = ${executionId}::bigint for key share of g
        returning id`);
      if (!queued)
        throw new ConflictError('group_gone', `the group of execution '${executionId}' no longer exists: run the workflow instead`);
      await reclaimGroups(db, [workflow]);
      return queued.id;
    }
  });
  await doorbell.pokeDispatcher();
  return { queueEntryId: String(id) };
}
