import type { Db } from '../db/database.ts';
import { type Sql, sql } from '../db/sql.ts';
import { ConflictError } from '../errors.ts';
import { type Capability, InvalidActivationError } from '../model/dormant.ts';
import type { ExecutionId, ManifestId } from '../model/ids.ts';

/** A running execution of a manifest, in whose name its lease holder acts. */
export interface ParentExecution {
  id: ExecutionId;
  runId: ExecutionId;
  /** Those of the whole: for the step of a plan, the plan's. */
  manifestId: ManifestId;
  externalId: string;
}

/** Looks whether the lease is held, without a lock: a stranger is turned away before anybody waits for him. */
export function checkLease(db: Db, capability: Capability): Promise<ParentExecution> {
  return readParent(db, capability, sql``);
}

/**
 * Keeps the lease from ending until the caller's commit: whoever records an outcome, hands the run back or takes it for lost waits for this row. It comes after the locks on
 * manifests, as everywhere.
 */
export function holdLease(db: Db, capability: Capability): Promise<ParentExecution> {
  return readParent(db, capability, sql`for no key update of e`);
}

/** A nested run has no lease of its own but its root's, which never ends by itself: nothing can be asked for in its name. */
async function readParent(db: Db, { executionId, leaseToken }: Capability, lock: Sql): Promise<ParentExecution> {
  const [running] = isCapability(executionId, leaseToken)
    ? await db.query<ParentExecution | { manifestId: null; workflowName: string }>(sql`
        select e.id, e.run_id as "runId", e.workflow_name as "workflowName", m.id as "manifestId", m.external_id as "externalId"
          from waybill.execution e
          join waybill.execution r on r.id = e.root_id
          left join waybill.manifest m on m.id = r.manifest_id
         where e.id = ${executionId}::bigint and e.state = 'in_progress' and e.lease_token = ${leaseToken}::uuid
           and e.lease_expires_at > waybill.now() and e.lease_expires_at < 'infinity'
        ${lock}`)
    : [];
  if (!running) throw leaseLost(executionId);
  if (running.manifestId !== null) return running;
  throw new InvalidActivationError(
    'outside_scheduled_run',
    `execution '${executionId}' runs workflow '${running.workflowName}' without a manifest, so it has no dormant dependents; nothing was queued: schedule it, or run the other workflow itself`,
  );
}

/** The same words for an execution that does not exist and for a wrong token: they tell a stranger nothing. */
function leaseLost(executionId: string): ConflictError {
  return new ConflictError(
    'lease_lost',
    `execution '${executionId.slice(0, 40)}' does not run under this lease: it has ended, was lost or runs elsewhere by now, or the token is not its own; nothing was queued`,
  );
}

/** What no version of ours hands out is nobody's, and Postgres would raise on it. */
function isCapability(executionId: string, leaseToken: string): boolean {
  const isId = /^[1-9][0-9]{0,15}$/.test(executionId);
  return isId && /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/.test(leaseToken);
}
