import { sql } from '../sql.ts';
import type { Invariant } from './invariant.ts';

/**
 * Entries carry no foreign keys. A queued one whose manifest or group is gone, or whose execution no longer waits for it, would never be
 * admitted: an intent that was acknowledged and forgotten. Reads every queued entry, and probes primary keys.
 */
export const entriesNameWhatExists: Invariant = {
  name: 'a_queued_entry_names_only_what_exists',
  kind: 'always',
  statement: sql`
    with queued as materialized (
      select id, group_id, manifest_id, run_id, execution_id from waybill.work_queue where status = 'queued'
    )
    select 'entry ' || w.id as subject, 'missing: ' || w.missing as detail
      from (
        select w.id, concat_ws(', ',
                 case when not exists (select from waybill.manifest_group g where g.id = w.group_id) then 'group ' || w.group_id end,
                 case when w.manifest_id is not null and w.execution_id is null
                       and not exists (select from waybill.manifest m where m.id = w.manifest_id and m.deleted_at is null)
                      then 'manifest ' || w.manifest_id end,
                 case when w.run_id is not null and not exists (select from waybill.execution e where e.id = w.run_id)
                      then 'run ' || w.run_id end,
                 case when w.execution_id is not null
                       and not exists (select from waybill.execution e where e.id = w.execution_id and e.state = 'waiting')
                      then 'waiting execution ' || w.execution_id end) as missing
          from queued w
      ) w
     where w.missing <> ''
     order by w.id limit 100`,
};
