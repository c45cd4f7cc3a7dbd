import { sql } from '../sql.ts';
import type { Invariant } from './invariant.ts';

/** A person cannot judge, nor retry, a failure that is gone. Reads the dead letters that await somebody, and probes primary keys. */
export const deadLettersNameWhatExists: Invariant = {
  name: 'an_awaiting_dead_letter_names_only_what_exists',
  kind: 'always',
  statement: sql`
    select 'dead letter ' || d.id as subject, 'missing: ' || d.missing as detail
      from (
        select d.id, concat_ws(', ',
                 case when not exists (select from waybill.execution e where e.id = d.execution_id) then 'execution ' || d.execution_id end,
                 case when d.manifest_id is not null and not exists (select from waybill.manifest m where m.id = d.manifest_id)
                      then 'manifest ' || d.manifest_id end) as missing
          from waybill.dead_letter d where d.status = 'awaiting_intervention'
      ) d
     where d.missing <> ''
     order by d.id limit 100`,
};
