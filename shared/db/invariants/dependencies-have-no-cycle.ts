import { sql } from '../sql.ts';
import { cyclesAmong } from './cycles-among.ts';
import type { Invariant } from './invariant.ts';

/** Manifests that wait for each other wait for ever; deleted ones wait for nothing. Reads all edges, once for each level that they have. */
export const dependenciesHaveNoCycle: Invariant = {
  name: 'dependencies_have_no_cycle',
  kind: 'always',
  statement: sql`
    ${cyclesAmong(sql`
      select d.child_id, d.parent_id
        from waybill.manifest_dependency d join waybill.manifest p on p.id = d.parent_id and p.deleted_at is null`)}
    select 'manifest ' || m.external_id as subject,
           'waits for itself through ' || string_agg(distinct p.external_id, ', ' order by p.external_id) as detail
      from circular c
      join waybill.manifest m on m.id = c.child_id
      join waybill.manifest p on p.id = c.parent_id
     group by m.id, m.external_id
     order by m.id limit 100`,
};
