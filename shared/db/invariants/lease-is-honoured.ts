import { sql } from '../sql.ts';
import { GRACE_SECONDS, type Invariant } from './invariant.ts';

/** A run whose lease has expired is ended by the next cycle. Reads the index of leases, from its old end. */
export const leaseIsHonoured: Invariant = {
  name: 'a_run_whose_lease_expired_is_ended',
  kind: 'eventually',
  graceSeconds: GRACE_SECONDS,
  statement: sql`
    select 'execution ' || e.id as subject, format('in progress, its lease expired at %s', e.lease_expires_at) as detail
      from waybill.execution e
     where e.state = 'in_progress' and e.lease_expires_at < waybill.now() - make_interval(secs => ${GRACE_SECONDS})
     order by e.lease_expires_at limit 100`,
};
