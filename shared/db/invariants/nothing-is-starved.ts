import { sql } from '../sql.ts';
import { GRACE_SECONDS, type Invariant } from './invariant.ts';

const STARVED_SECONDS = 600;
/** The fewest executions that a pool takes, whatever its size; how many more it takes is known to the dispatcher only. */
const SMALLEST_POOL = 2;

/**
 * An entry that could have been admitted for ten minutes was: nothing is paused, its manifest is free, and for the last two minutes the whole, its group
 * and its pool have had room, counting what ended in that time as if it were still there. A plan takes no slot and needs no room. An entry whose pool is not deployed shows here too.
 * Reads the entries that are available for so long, the live executions, and what ended within two minutes.
 */
export const nothingIsStarved: Invariant = {
  name: 'no_entry_waits_while_there_is_room_for_it',
  kind: 'eventually',
  graceSeconds: STARVED_SECONDS,
  statement: sql`
    with recent as (select waybill.now() - make_interval(secs => ${GRACE_SECONDS}) as since_at),
    holder as (
      select e.group_id, e.pool from waybill.execution e
       where e.state in ('pending', 'in_progress') and e.work_queue_id is not null and e.group_count is null and e.group_id is not null
      union all
      select e.group_id, e.pool from waybill.execution e cross join recent
       where e.finished_at > recent.since_at and e.work_queue_id is not null and e.group_count is null
    ),
    in_group as (select group_id, count(*) as taken from holder group by group_id),
    in_pool as (select pool, count(*) as taken from holder group by pool)
    select 'entry ' || w.id as subject,
           format('available since %s in group %s and %s, which have room', w.available_at, g.name, coalesce('pool ' || p.name, 'no pool')) as detail
      from waybill.work_queue w
     cross join recent
      join waybill.capacity c on not c.is_paused and c.updated_at not between recent.since_at and waybill.now()
      join waybill.manifest_group g on g.id = w.group_id and g.is_enabled and g.updated_at < recent.since_at
      left join waybill.workflow f on f.name = w.workflow_name
     cross join lateral (select case when w.workflow_name is not null or w.execution_id is not null then coalesce(w.pool, f.pool, 'default') end as name) p
      left join in_group on in_group.group_id = w.group_id
      left join in_pool on in_pool.pool = p.name
     where w.status = 'queued' and w.available_at < waybill.now() - make_interval(secs => ${STARVED_SECONDS})
       and (p.name is null or (
             (c.max_active_jobs is null or c.max_active_jobs > (select count(*) from holder))
         and (g.max_active_jobs is null or g.max_active_jobs > coalesce(in_group.taken, 0))
         and coalesce(in_pool.taken, 0) < ${SMALLEST_POOL}))
       and (w.execution_id is not null or w.manifest_id is null or (
             not exists (select from waybill.execution e
                          where e.manifest_id = w.manifest_id and e.manifest_id is not null and e.parent_id is null and e.finished_at is null)
         and not exists (select from (select e.finished_at from waybill.execution e
                                       where e.manifest_id = w.manifest_id and e.manifest_id is not null order by e.id desc limit 1) last
                          where last.finished_at > recent.since_at)
         and not exists (select from waybill.dead_letter d
                          where d.manifest_id = w.manifest_id and (d.resolved_at is null or d.resolved_at > recent.since_at))
         and not exists (select from waybill.work_queue o
                          where o.manifest_id = w.manifest_id and o.manifest_id is not null and o.status = 'queued' and o.execution_id is null
                            and o.id <> w.id and (o.lane = 'retry' or (w.lane = 'series' and (o.lane = 'fresh' or o.occurrence_at < w.occurrence_at))))))
     order by w.available_at, w.id limit 100`,
};
