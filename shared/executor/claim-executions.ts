import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { ExecutionId } from '../model/ids.ts';

export interface ClaimExecutions {
  ids: ExecutionId[];
  leaseToken: string;
  leaseSeconds: number;
  requestId: string;
  logStream: string;
  /** What this deployment knows: a rollout that such a run has waited for is over. */
  workflowNames?: readonly string[];
}

export interface ClaimedExecution {
  id: ExecutionId;
  runId: ExecutionId;
  /** The plan whose step it is. */
  planId: ExecutionId | null;
  externalId: string | null;
  workflowName: string;
  input: unknown;
  attempt: number;
  occurrenceAt: Date | null;
  timeoutSeconds: number | null;
  /** How long earlier invocations of this attempt ran it. */
  runningMs: number;
  /** Earlier invocations of this attempt have begun it; what they recorded is still there. */
  isContinued: boolean;
  isCancelRequested: boolean;
  /** How long ago, by the database's clock, an executor first did not know the workflow. */
  unknownForSeconds: number | null;
  lastSuccessStartedAt: Date | null;
}

export interface Claim {
  claimed: ClaimedExecution[];
  /** Claimable, but left alone because one of the bells is for an execution that must run alone. */
  postponed: ExecutionId[];
}

/**
 * Takes ownership of pending executions: of all that are named or, if one of them must run alone, of that one only. One that is neither claimed nor postponed
 * is someone else's or over: a duplicate delivery is normal, not an error.
 *
 * Repeating it with one's own token gives what the first call took, no more: an answer that got lost may be asked for again, and what became pending in
 * between does not change it. Rows are locked in the order of their ids, so that invocations which share bells never wait for each other in a circle, and
 * `is_solo` is read from the locked row.
 */
export async function claimExecutions(
  db: Db,
  { ids, leaseToken, leaseSeconds, requestId, logStream, workflowNames = [] }: ClaimExecutions,
): Promise<Claim> {
  const rows = await db.query<ClaimedExecution & { isClaimed: boolean }>(sql`
    with bell as (
      select e.id, e.started_at is not null as is_continued, case when e.lease_token = ${leaseToken} then 'own' when e.is_solo then 'solo' else 'other' end as kind
        from waybill.execution e
       where e.id = any(${ids}::bigint[])
         and (e.state = 'pending' or (e.state = 'in_progress' and e.lease_token = ${leaseToken}))
         and e.group_count is null and e.workflow_name is not null
       order by e.id for no key update
    ), chosen as (
      select id from bell
       where case when exists (select from bell where kind = 'own') then kind = 'own'
                  when exists (select from bell where kind = 'solo') then id = (select min(id) from bell where kind = 'solo')
                  else true end
    ), claimed as (
      update waybill.execution e
         set state = 'in_progress', lease_token = ${leaseToken}, lease_expires_at = waybill.now() + make_interval(secs => ${leaseSeconds}),
             started_at = coalesce(started_at, waybill.now()), claimed_at = waybill.now(), request_id = ${requestId}, log_stream = ${logStream}, ring_count = 0,
             unknown_since_at = case when e.workflow_name = any(${workflowNames}::text[]) then null else e.unknown_since_at end
        from chosen
       -- Written as a case: as an alternative the planner would look for it in the index of everything live.
       where e.id = chosen.id and case e.state when 'pending' then true when 'in_progress' then e.lease_token = ${leaseToken} else false end
      returning e.*
    )
    select b.id, c.id is not null as "isClaimed", c.run_id as "runId", case when c.group_index is not null then c.parent_id end as "planId", c.workflow_name as "workflowName", c.input, c.attempt,
           c.occurrence_at as "occurrenceAt", c.timeout_seconds as "timeoutSeconds", c.running_ms as "runningMs", b.is_continued as "isContinued", c.cancel_requested_at is not null as "isCancelRequested",
           extract(epoch from waybill.now() - c.unknown_since_at)::float8 as "unknownForSeconds",
           m.external_id as "externalId", m.last_success_started_at as "lastSuccessStartedAt"
      from bell b left join claimed c on c.id = b.id left join waybill.manifest m on m.id = c.manifest_id
     order by b.id`);
  return {
    claimed: rows.filter(({ isClaimed }) => isClaimed),
    postponed: rows.filter(({ isClaimed }) => !isClaimed).map(({ id }) => id),
  };
}
