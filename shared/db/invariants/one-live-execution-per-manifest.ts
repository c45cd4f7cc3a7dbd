import { sql } from '../sql.ts';
import type { Invariant } from './invariant.ts';

/** A unique index makes a second one impossible; this notices its absence. Reads that index: as many rows as there are unfinished runs. */
export const oneLiveExecutionPerManifest: Invariant = {
  name: 'a_manifest_has_at_most_one_unfinished_execution',
  kind: 'always',
  statement: sql`
    select 'manifest ' || e.manifest_id as subject, 'unfinished at once: executions ' || string_agg(e.id::text, ', ' order by e.id) as detail
      from waybill.execution e
     where e.parent_id is null and e.finished_at is null and e.manifest_id is not null
     group by e.manifest_id having count(*) > 1
     order by e.manifest_id limit 100`,
};
