import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { ExecutionId } from '../model/ids.ts';
import { toStorableText } from '../model/json.ts';
import type { Progress } from '../transitions/finish-executions.ts';
import { toWhole } from './to-whole.ts';

export type { Progress } from '../transitions/finish-executions.ts';

export interface RenewLeases {
  leases: { id: ExecutionId; progress?: Progress }[];
  leaseToken: string;
  leaseSeconds: number;
}

export interface RenewedLease {
  id: ExecutionId;
  isCancelRequested: boolean;
}

/**
 * Extends the leases of one executor, in one statement that also writes how far the runs are, and hears which of them should stop. A run that is missing from
 * the answer is lost: it was ended by somebody else, or runs elsewhere by now.
 */
export function renewLeases(db: Db, { leases, leaseToken, leaseSeconds }: RenewLeases): Promise<RenewedLease[]> {
  return db.query<RenewedLease>(sql`
    with lease as (
      select * from jsonb_to_recordset(${JSON.stringify(leases.map(toRow))}::jsonb) as l (id bigint, done bigint, total bigint, message text)
    ), held as (
      select e.id from waybill.execution e join lease l on l.id = e.id
       where e.state = 'in_progress' and e.lease_token = ${leaseToken}
       order by e.id for no key update of e
    )
    update waybill.execution e
       set lease_expires_at = waybill.now() + make_interval(secs => ${leaseSeconds}),
           progress_done = coalesce(l.done, e.progress_done), progress_total = coalesce(l.total, e.progress_total),
           progress_message = coalesce(l.message, e.progress_message)
      from lease l join held on held.id = l.id
     where e.id = l.id and e.state = 'in_progress' and e.lease_token = ${leaseToken}
    returning e.id, e.cancel_requested_at is not null as "isCancelRequested"`);
}

/** A figure that Postgres would refuse must not cost a run its lease. */
function toRow({ id, progress }: RenewLeases['leases'][number]) {
  const message = progress?.message === undefined ? undefined : toStorableText(String(progress.message), 500);
  return { id, done: toWhole(progress?.done), total: toWhole(progress?.total), message };
}
