import { sql } from '../sql.ts';
import type { Invariant } from './invariant.ts';

/**
 * No step starts, or is admitted, before every step of the groups before it is over. Steps that a resumed plan took over from the one before
 * have no entry and did not run here; cancelled and skipped ones never began. Reads the unfinished plans with their steps.
 */
export const planGroupsRunInOrder: Invariant = {
  name: 'a_plan_releases_a_group_only_when_the_groups_before_it_are_over',
  kind: 'always',
  statement: sql`
    select 'execution ' || c.id as subject,
           format('step %s of group %s in plan execution %s began before execution %s of group %s was over',
                  c.step_name, c.group_index, p.id, b.id, b.group_index) as detail
      from waybill.execution p
      join waybill.execution c on c.parent_id = p.id and c.group_index > 0
     cross join lateral (
       select b.id, b.group_index from waybill.execution b
        where b.parent_id = p.id and b.group_index < c.group_index and (b.finished_at is null or b.finished_at > c.started_at)
        order by b.id limit 1) b
     where p.parent_id is null and p.finished_at is null and p.manifest_id is not null and p.group_count is not null
       and (c.state in ('pending', 'in_progress') or (c.started_at is not null and c.work_queue_id is not null))
     order by c.id limit 100`,
};
