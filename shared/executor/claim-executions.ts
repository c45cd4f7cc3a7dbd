import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { ExecutionId } from '../model/ids.ts';

export interface ClaimExecutions {
  ids: ExecutionId[];
  leaseToken: string;
  leaseSeconds: number;
  requestId: string;
  logStream: string;
}

export interface ClaimedExecution {
  id: ExecutionId;
  runId: ExecutionId;
  externalId: string | null;
  workflowName: string;
  input: unknown;
  attempt: number;
  occurrenceAt: Date | null;
  timeoutSeconds: number | null;
  unknownSinceAt: Date | null;
  lastSuccessStartedAt: Date | null;
}

/**
 * Takes ownership of pending executions. Repeating it with one's own token is success. One that is missing from the answer is
 * someone else's or over: a duplicate delivery is normal, not an error.
 */
export function claimExecutions(
  db: Db,
  { ids, leaseToken, leaseSeconds, requestId, logStream }: ClaimExecutions,
): Promise<ClaimedExecution[]> {
  return db.query<ClaimedExecution>(sql`
    update waybill.execution e
       set state = 'in_progress', lease_token = ${leaseToken}, lease_expires_at = waybill.now() + make_interval(secs => ${leaseSeconds}),
           started_at = coalesce(started_at, waybill.now()), request_id = ${requestId}, log_stream = ${logStream}, ring_count = 0
     where e.id = any(${ids}::bigint[])
       and (e.state = 'pending' or (e.state = 'in_progress' and e.lease_token = ${leaseToken}))
       and e.group_count is null and e.workflow_name is not null
    returning e.id, e.run_id as "runId", e.workflow_name as "workflowName", e.input, e.attempt, e.occurrence_at as "occurrenceAt",
              e.timeout_seconds as "timeoutSeconds", e.unknown_since_at as "unknownSinceAt",
              (select m.external_id from waybill.manifest m where m.id = e.manifest_id) as "externalId",
              (select m.last_success_started_at from waybill.manifest m where m.id = e.manifest_id) as "lastSuccessStartedAt"`);
}
