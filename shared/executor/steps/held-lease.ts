import { type Sql, sql } from '../../db/sql.ts';
import type { ExecutionId } from '../../model/ids.ts';

/** The execution in whose name steps are recorded, and the token under which it was claimed. What is nested in it has no lease of its own. */
export interface Lease {
  holderId: ExecutionId;
  leaseToken: string;
}

/**
 * The holder's row if the lease is still held, locked for the rest of the statement: whoever ends, hands back or recovers the execution comes before it or after it. A statement
 * that finds no row writes nothing, so an executor that lost its lease begins no further step and completes none.
 */
export const heldLease = ({ holderId, leaseToken }: Lease): Sql => sql`
  select e.id from waybill.execution e
   where e.id = ${holderId} and e.state = 'in_progress' and e.lease_token = ${leaseToken}
     for no key update`;
