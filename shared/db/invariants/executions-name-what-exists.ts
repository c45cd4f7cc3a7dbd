import { sql } from '../sql.ts';
import type { Invariant } from './invariant.ts';

/**
 * Executions carry no foreign keys either. A manifest is deleted only together with, or after, its last run. Reads what is unfinished and
 * probes primary keys; what has ended is history that only housekeeping removes, as whole runs.
 */
export const executionsNameWhatExists: Invariant = {
  name: 'an_unfinished_execution_names_only_what_exists',
  kind: 'always',
  statement: sql`
    with unfinished as materialized (
      select id, group_id, manifest_id, work_queue_id, parent_id, root_id, run_id
        from waybill.execution where state in ('waiting', 'pending', 'in_progress')
    )
    select 'execution ' || e.id as subject, 'missing: ' || e.missing as detail
      from (
        select e.id, concat_ws(', ',
                 case when not exists (select from waybill.manifest_group g where g.id = e.group_id) then 'group ' || e.group_id end,
                 case when e.manifest_id is not null and not exists (
                        select from waybill.manifest m where m.id = e.manifest_id and (m.deleted_at is null or e.parent_id is not null))
                      then 'manifest ' || e.manifest_id end,
                 case when e.work_queue_id is not null and not exists (select from waybill.work_queue w where w.id = e.work_queue_id)
                      then 'entry ' || e.work_queue_id end,
                 case when e.parent_id is not null and not exists (select from waybill.execution p where p.id = e.parent_id)
                      then 'parent ' || e.parent_id end,
                 case when not exists (select from waybill.execution r where r.id = e.root_id) then 'root ' || e.root_id end,
                 case when not exists (select from waybill.execution r where r.id = e.run_id) then 'run ' || e.run_id end) as missing
          from unfinished e
      ) e
     where e.missing <> ''
     order by e.id limit 100`,
};
