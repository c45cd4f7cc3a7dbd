import type { Db } from '../db/database.ts';
import { metricGroup } from '../db/queries/metric-group.ts';
import { sql } from '../db/sql.ts';
import type { EndedRun, Outcome } from '../transitions/end-runs.ts';

const isNext = sql`w.run_id = e.run_id and w.attempt = e.attempt + 1`;

/**
 * The runs among these that have already been ended with exactly this outcome, under this lease: a commit whose acknowledgement got lost. A run that recovery has ended keeps
 * its last token too, but says `lease_lost`, which no executor records. What is missing from the answer was ended by somebody else.
 */
export async function findRecordedOutcomes(db: Db, outcomes: Outcome[]): Promise<EndedRun[]> {
  if (!outcomes.length) return [];
  const sought = outcomes.map(({ executionId, leaseToken, failure }) => ({
    id: executionId,
    lease_token: leaseToken,
    failure_code: failure?.code,
  }));
  return db.query<EndedRun>(sql`
    select e.id as "executionId", e.run_id as "runId", e.manifest_id as "manifestId", e.workflow_name as "workflowName", e.state, e.attempt,
           e.failure_code as "failureCode", e.failure_message as "failureMessage", e.running_ms as "runningMs", e.parent_id is not null as "isChild",
           (select m.external_id from waybill.manifest m where m.id = e.manifest_id) as "externalId",
           ${metricGroup} as "metricGroup",
           true as "wakesManager",
           case when e.state <> 'failed' then null
                when exists (select from waybill.dead_letter d where d.execution_id = e.id) then 'dead_letter'
                -- By its manifest, since the retry waits in the group that this one has by now.
                when exists (select from waybill.work_queue w
                              where w.manifest_id = e.manifest_id and w.manifest_id is not null and w.status = 'queued' and ${isNext}) then 'retry'
                when e.manifest_id is null
                 and exists (select from waybill.work_queue w where w.group_id = e.group_id and w.status = 'queued' and ${isNext}) then 'retry'
           end as next
      from waybill.execution e join waybill.manifest_group g on g.id = e.group_id
      join jsonb_to_recordset(${JSON.stringify(sought)}::jsonb) as o (id bigint, lease_token uuid, failure_code text)
        on o.id = e.id and o.lease_token = e.lease_token and o.failure_code is not distinct from e.failure_code
     where e.finished_at is not null`);
}
