import { sql } from '../sql.ts';
import { GRACE_SECONDS, type Invariant } from './invariant.ts';

/** The transaction that ends the last run of a retiring manifest deletes it. Reads the index of retiring manifests. */
export const retiredIsDeleted: Invariant = {
  name: 'a_retiring_manifest_is_deleted_with_its_last_run',
  kind: 'eventually',
  graceSeconds: GRACE_SECONDS,
  statement: sql`
    select 'manifest ' || m.external_id as subject, format('retiring since %s without an unfinished execution', m.retiring_at) as detail
      from waybill.manifest m
     where m.retiring_at < waybill.now() - make_interval(secs => ${GRACE_SECONDS}) and m.retiring_at is not null and m.deleted_at is null
       and not exists (select from waybill.execution e
                        where e.manifest_id = m.id and e.manifest_id is not null and e.parent_id is null and e.finished_at is null)
     order by m.id limit 100`,
};
