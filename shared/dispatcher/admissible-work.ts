import { resolvedPool } from '../db/queries/resolved-pool.ts';
import { type Sql, sql } from '../db/sql.ts';

/**
 * Whether it is the turn of queued entry `w` among those of its manifest. Per manifest at most one has it: a queued retry, available or not, keeps every other
 * back; otherwise fresh goes before series, and series by occurrence; none while the manifest has an unfinished execution or an open dead letter.
 *
 * To the planner's statistics queued and live rows often look like none, so that any index that knows only such rows seems to cost nothing to read as a
 * whole. `offset 0` keeps each question a probe of one index for one entry, and inside `case` the instant of availability leads to no index.
 * A series is asked about its earlier occurrences first: all but one of its entries end there.
 */
export const isItsTurn: Sql = sql`(
  (w.lane <> 'series' or not exists (
    select from waybill.work_queue o
     where o.manifest_id = w.manifest_id and o.status = 'queued' and o.execution_id is null and o.lane = 'series'
       and o.occurrence_at < w.occurrence_at offset 0))
  and not exists (
    select from waybill.execution e where e.manifest_id = w.manifest_id and e.parent_id is null and e.finished_at is null offset 0)
  and not exists (
    select from waybill.dead_letter d where d.manifest_id = w.manifest_id and d.status = 'awaiting_intervention' offset 0)
  and (w.lane = 'retry' or not exists (
    select from waybill.work_queue o
     where o.manifest_id = w.manifest_id and o.status = 'queued' and o.execution_id is null and o.lane = 'retry' offset 0))
  and (w.lane <> 'series' or not exists (
    select from waybill.work_queue o
     where o.manifest_id = w.manifest_id and o.status = 'queued' and o.execution_id is null and o.lane = 'fresh'
       and o.available_at <= (select waybill.now()) offset 0)))`;

/**
 * Whether queued entry `w` may be admitted if there is a slot for it. An entry that continues an execution (a plan's step, a sleeper) need not be its manifest's turn: the execution
 * only has to be waiting still. That of a plan takes no slot, so it is not for those who look for one.
 */
export function isAdmissible(poolNames: string[]): Sql {
  return sql`case
    when w.available_at > (select waybill.now()) or ${resolvedPool(sql`w`)} <> all(${poolNames}::text[]) then false
    when w.execution_id is not null then
      exists (select from waybill.execution e where e.id = w.execution_id and e.state = 'waiting' offset 0)
    when w.workflow_name is null then false
    when w.manifest_id is not null then ${isItsTurn}
    else true end`;
}

/**
 * The queue of one group in order of rank, from its index, each entry with whether it is admissible: `(…) w where w.is_admissible limit n`. An entry is
 * never available before its rank, so the scan ends where the future begins.
 *
 * The verdict is a column and not a condition in here, behind `offset 0`, and the outer query must not sort again. Otherwise the planner expects next to
 * nothing to be admissible, and judges and sorts the whole backlog to find one entry. Filter and limit take the rows in the order in which they come.
 */
export function queueInOrder(groupId: Sql, poolNames: string[], bound: Sql = sql`true`): Sql {
  return sql`(
    select w.id, w.group_id, w.manifest_id, w.execution_id, w.rank_at, ${resolvedPool(sql`w`)} as pool, ${isAdmissible(poolNames)} as is_admissible
      from waybill.work_queue w
     where w.group_id = ${groupId} and w.status = 'queued' and w.rank_at <= (select waybill.now()) and ${bound}
     order by w.rank_at, w.id offset 0)`;
}
