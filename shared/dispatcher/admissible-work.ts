import { type Sql, sql } from '../db/sql.ts';

/** The pool of entry `w`: its own, else its workflow's, else the default one. Resolved at every look, so that work follows its workflow to another pool. */
export const resolvedPool: Sql = sql`coalesce(w.pool, (select f.pool from waybill.workflow f where f.name = w.workflow_name), 'default')`;

/**
 * Whether entry `w` may be admitted if there is a slot for it. Per manifest at most one may: a queued retry, available or not, keeps every other back;
 * otherwise fresh goes before series, and series by occurrence; none while the manifest has an unfinished execution or an open dead letter. An entry
 * that continues an execution (a plan's step, a sleeper) is free of these rules: the execution only has to be waiting still.
 *
 * An entry is never available before its rank, so the bound on rank_at ends an index scan where the future begins.
 * `offset 0` keeps each question a probe of one index for one entry. Without it the planner, to whose statistics live rows look like none,
 * may join instead and read every unfinished execution or the whole history of a manifest.
 */
export function isAdmissible(poolNames: string[]): Sql {
  return sql`
    w.status = 'queued' and w.rank_at <= waybill.now() and w.available_at <= waybill.now() and ${resolvedPool} = any(${poolNames}::text[])
    and case
      when w.execution_id is not null then
        exists (select from waybill.execution e where e.id = w.execution_id and e.state = 'waiting' offset 0)
      when w.manifest_id is not null then
        not exists (select from waybill.execution e
                     where e.manifest_id = w.manifest_id and e.parent_id is null and e.finished_at is null offset 0)
        and not exists (select from waybill.dead_letter d
                         where d.manifest_id = w.manifest_id and d.status = 'awaiting_intervention' offset 0)
        and (w.lane = 'retry' or not exists (
          select from waybill.work_queue o
           where o.manifest_id = w.manifest_id and o.status = 'queued' and o.execution_id is null and o.lane = 'retry' offset 0))
        and (w.lane <> 'series' or not exists (
          select from waybill.work_queue o
           where o.manifest_id = w.manifest_id and o.status = 'queued' and o.execution_id is null and o.lane = 'fresh'
             and o.available_at <= waybill.now() offset 0))
        and (w.lane <> 'series' or not exists (
          select from waybill.work_queue o
           where o.manifest_id = w.manifest_id and o.status = 'queued' and o.execution_id is null and o.lane = 'series'
             and o.occurrence_at < w.occurrence_at offset 0))
      else true
    end`;
}
