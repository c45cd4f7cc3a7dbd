import { type Sql, sql } from '../db/sql.ts';
import { queueInOrder } from './admissible-work.ts';
import { countPoolSlots } from './count-pool-slots.ts';
import type { ClaimContext } from './cycle.ts';

/**
 * Locks the groups that this claim may admit from. It waits for them: another claim that holds one is over in milliseconds, and to pass over it would lose
 * the wake-up that brought this claim about. Groups without a lock on them are never admitted from, so two claims never count the same free slot.
 */
export async function lockGroups<Round extends { freeSlots: number }>(
  round: Round,
  { db, pools }: ClaimContext,
): Promise<Round & { groupIds: number[] }> {
  if (round.freeSlots === 0) return { ...round, groupIds: [] };
  const open = (await countPoolSlots(db, pools)).filter(({ free }) => free > 0).map(({ name }) => name);
  if (!open.length) return { ...round, groupIds: [] };
  const groups = await db.query<{ id: number }>(lockingStatement(open, round.freeSlots));
  return { ...round, groupIds: groups.map(({ id }) => id) };
}

/**
 * The queue's index tells which groups have work, one probe per group, however many are registered and however much is queued in each. A full or a
 * disabled group costs its count of live executions and nothing of its backlog.
 *
 * When more groups have work than may be admitted, only those with the best first entries are concerned: they alone hold as many entries as that,
 * and nothing in another group comes before all of them. With fewer, all are, and first entries need no comparison.
 */
export function lockingStatement(poolNames: string[], limit: number): Sql {
  return sql`
    with recursive queued (id) as (
      select min(w.group_id) from waybill.work_queue w where w.status = 'queued'
      union all
      select (select min(w.group_id) from waybill.work_queue w where w.status = 'queued' and w.group_id > q.id)
        from queued q where q.id is not null
    ), with_slots as materialized (
      select g.id, g.priority
        from queued q join waybill.manifest_group g on g.id = q.id
       where g.is_enabled
         and (g.max_active_jobs is null or g.max_active_jobs > (
               select count(*) from waybill.execution e
                where e.group_id = g.id and e.state in ('pending', 'in_progress') and e.work_queue_id is not null and e.group_count is null))
         and exists (select from waybill.work_queue w
                      where w.group_id = g.id and w.status = 'queued' and w.rank_at <= (select waybill.now()) and w.available_at <= (select waybill.now())
                      offset 0)
    ), amount as materialized (
      select count(*) > ${limit} as is_too_many from with_slots
    ), concerned as (
      select s.id
        from with_slots s cross join amount
        left join lateral (
          select w.id, w.rank_at - make_interval(mins => s.priority) as rank_at
            from ${queueInOrder(sql`s.id`, poolNames, sql`(select is_too_many from amount)`)} w
           where w.is_admissible limit 1
        ) head on true
       where head.id is not null or not amount.is_too_many
       order by head.rank_at, head.id limit ${limit}
    )
    select g.id from waybill.manifest_group g where g.id in (select id from concerned) order by g.id for no key update`;
}
