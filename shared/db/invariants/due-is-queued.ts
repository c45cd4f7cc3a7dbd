import { sql } from '../sql.ts';
import { GRACE_SECONDS, type Invariant } from './invariant.ts';

/** What is due is queued, skipped or held by the next cycle: nothing stays due. Reads the index of due manifests, from its old end. */
export const dueIsQueued: Invariant = {
  name: 'a_due_manifest_is_looked_at',
  kind: 'eventually',
  graceSeconds: GRACE_SECONDS,
  statement: sql`
    select 'manifest ' || m.external_id as subject, format('due since %s', m.next_due_at) as detail
      from waybill.manifest m
     where m.next_due_at < waybill.now() - make_interval(secs => ${GRACE_SECONDS})
     order by m.next_due_at, m.id limit 100`,
};
