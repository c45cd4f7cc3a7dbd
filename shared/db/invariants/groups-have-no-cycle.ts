import { sql } from '../sql.ts';
import { cyclesAmong } from './cycles-among.ts';
import type { Invariant } from './invariant.ts';

/**
 * Groups that wait for each other starve each other, once one of them is full or disabled; edges inside a group are fine. Reads all edges with the groups of both ends, which are
 * far fewer, and these once for each level that they have.
 */
export const groupsHaveNoCycle: Invariant = {
  name: 'groups_have_no_cycle',
  kind: 'always',
  statement: sql`
    ${cyclesAmong(sql`
      select distinct c.group_id, p.group_id
        from waybill.manifest_dependency d
        join waybill.manifest p on p.id = d.parent_id and p.deleted_at is null
        join waybill.manifest c on c.id = d.child_id and c.deleted_at is null
       where c.group_id <> p.group_id`)}
    select 'group ' || g.name as subject,
           'waits for itself through ' || string_agg(distinct p.name, ', ' order by p.name) as detail
      from circular c
      join waybill.manifest_group g on g.id = c.child_id
      join waybill.manifest_group p on p.id = c.parent_id
     group by g.id, g.name
     order by g.id limit 100`,
};
