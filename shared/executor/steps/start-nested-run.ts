import type { Db } from '../../db/database.ts';
import { sql } from '../../db/sql.ts';
import type { ExecutionId } from '../../model/ids.ts';

export interface StartNestedRun {
  parentId: ExecutionId;
  name: string;
  workflowName: string;
  inputText: string;
  leaseToken: string;
}

export interface NestedRun {
  id: ExecutionId;
  /** What it was begun with: a continuation goes on with the same. */
  input: unknown;
}

/**
 * Begins a nested run as a child of its parent, or takes up the one of this name that an earlier invocation of the attempt had to leave. It has no entry and no slot, and runs under its
 * holder's lease: its own never expires, so that recovery ends it with the holder and never alone. In a transaction after {@link startStep}, which holds the lease.
 */
export async function startNestedRun(db: Db, { parentId, name, workflowName, inputText, leaseToken }: StartNestedRun): Promise<NestedRun> {
  const [child] = await db.query<NestedRun>(sql`
    insert into waybill.execution (parent_id, root_id, run_id, manifest_id, workflow_name, pool, group_id, state, attempt, occurrence_at, origin, initiator_type,
                                   initiator_id, initiator_name, input, step_name, started_at, claimed_at, lease_token, lease_expires_at, request_id, log_stream)
    select p.id, p.root_id, p.run_id, p.manifest_id, ${workflowName}, p.pool, p.group_id, 'in_progress', p.attempt, p.occurrence_at, p.origin, 'execution',
           p.id::text, p.workflow_name, ${inputText}::jsonb, ${name}, waybill.now(), waybill.now(), ${leaseToken}::uuid, 'infinity', p.request_id, p.log_stream
      from waybill.execution p where p.id = ${parentId}
        on conflict (parent_id, step_name) where group_index is null and step_name is not null do update
       set state = 'in_progress', claimed_at = excluded.claimed_at, lease_token = excluded.lease_token, lease_expires_at = 'infinity',
           request_id = excluded.request_id, log_stream = excluded.log_stream
     where execution.finished_at is null
    returning id, input`);
  if (!child) throw new Error(`nested run '${name}' of execution ${parentId} has ended, although its step says that it has not`);
  return child;
}
