import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import { ConflictError, InvalidInputError } from '../errors.ts';
import type { WorkQueueId } from '../model/ids.ts';
import type { Initiator } from '../model/initiator.ts';
import { reclaimGroups } from '../transitions/reclaim-groups.ts';
import { checkDeployed } from './check-deployed.ts';
import { checkDelaySeconds, checkInput } from './check-input.ts';
import type { OperationContext } from './context.ts';
import { recordAudit } from './record-audit.ts';

/** Each takes a removal at the very moment. */
const GROUP_ATTEMPTS = 3;

export interface RunWorkflow {
  workflow: string;
  input?: unknown;
  delaySeconds?: number;
  maxAttempts?: number;
  priority?: number;
  timeoutSeconds?: number;
}

/** Runs a workflow without a manifest. Its group is called like the workflow, so that ad-hoc runs can be limited and switched off like any other. */
export async function runWorkflow(
  { database, doorbell, initiator }: OperationContext,
  { workflow, input = {}, delaySeconds = 0, maxAttempts = 1, priority = 0, timeoutSeconds }: RunWorkflow,
): Promise<{ queueEntryId: string }> {
  checkInput(input);
  checkDelaySeconds(delaySeconds);
  checkWhole('maxAttempts', maxAttempts, 1, 1_000);
  checkWhole('priority', priority, 0, 31);
  if (timeoutSeconds !== undefined) checkWhole('timeoutSeconds', timeoutSeconds, 1, 31_536_000);
  const id = await database.transaction(async (db) => {
    await checkDeployed(db, workflow);
    const entryId = await queueRun(db, { workflow, input, delaySeconds, maxAttempts, priority, timeoutSeconds, initiator });
    await recordAudit(db, initiator, {
      action: 'workflow.run',
      targetType: 'workflow',
      target: workflow,
      after: { queueEntryId: String(entryId) },
    });
    return entryId;
  });
  await (delaySeconds > 0 ? doorbell.pokeManager() : doorbell.pokeDispatcher());
  return { queueEntryId: String(id) };
}

type QueuedRun = RunWorkflow & { delaySeconds: number; maxAttempts: number; priority: number; initiator: Initiator };

/** Housekeeping may remove the group, as long as nothing names it, between finding it there and holding it: then it is created once more. */
async function queueRun(db: Db, run: QueuedRun): Promise<WorkQueueId> {
  for (let attempt = 0; attempt < GROUP_ATTEMPTS; attempt++) {
    await db.query(sql`insert into waybill.manifest_group (name) values (${run.workflow}) on conflict (name) do nothing`);
    const entryId = await insertEntry(db, run);
    if (entryId === undefined) continue;
    await reclaimGroups(db, [run.workflow]);
    return entryId;
  }
  throw new ConflictError('group_gone', `group '${run.workflow}' was removed while the run was queued: try again`, { retryable: true });
}

/** Undefined means that the group is gone. */
async function insertEntry(
  db: Db,
  { workflow, input, priority, delaySeconds, maxAttempts, timeoutSeconds, initiator }: QueuedRun,
): Promise<WorkQueueId | undefined> {
  const [entry] = await db.query<{ id: WorkQueueId }>(sql`
    insert into waybill.work_queue (workflow_name, input, is_input_given, group_id, priority, lane, origin, available_at, max_attempts, timeout_seconds,
                                    initiator_type, initiator_id, initiator_name)
    select ${workflow}, ${JSON.stringify(input)}::jsonb, true, g.id, ${priority}, 'fresh', 'manual',
           waybill.now() + make_interval(secs => ${delaySeconds}), ${maxAttempts}, ${timeoutSeconds ?? null},
           ${initiator.type}, ${initiator.id}, ${initiator.name}
      from waybill.manifest_group g where g.name = ${workflow} for key share
    returning id`);
  return entry?.id;
}

function checkWhole(name: string, value: number, least: number, most: number): void {
  if (Number.isInteger(value) && value >= least && value <= most) return;
  throw new InvalidInputError('invalid_request', `${name} must be a whole number from ${least} to ${most}, got ${value}`);
}
