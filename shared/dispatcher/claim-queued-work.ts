import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { ManifestId, WorkQueueId } from '../model/ids.ts';
import type { PoolSettings } from '../settings.ts';
import type { RingableExecution } from '../transitions/ring-doorbells.ts';

interface Candidate {
  id: WorkQueueId;
  manifestId: ManifestId | null;
}

/**
 * Admits queued entries as pending executions, best first, within the free slots of the whole, of each group and of each
 * pool. Locks come first and counts are read in the next statement (DESIGN: a count taken with the lock is the count from
 * before it): capacity → groups → manifests → entries. An entry that is missing from the answer keeps its place.
 */
export async function claimQueuedWork(
  db: Db,
  { pools, limit }: { pools: Record<string, PoolSettings>; limit: number },
): Promise<RingableExecution[]> {
  const freeSlots = await lockCapacity(db, limit);
  if (freeSlots <= 0) return [];
  const groupIds = await lockGroups(db);
  if (!groupIds.length) return [];
  const candidates = await pickCandidates(db, groupIds, pools, freeSlots);
  if (!candidates.length) return [];
  const manifestIds = candidates.flatMap(({ manifestId }) => (manifestId === null ? [] : [manifestId]));
  const locked = new Set(await lockManifests(db, manifestIds));
  const entryIds = candidates.filter(({ manifestId }) => manifestId === null || locked.has(manifestId)).map(({ id }) => id);
  return admit(db, await lockEntries(db, entryIds));
}

/** The free slots of the whole. Only a global limit needs the lock; without one, claims of different groups run side by side. */
async function lockCapacity(db: Db, limit: number): Promise<number> {
  const [capacity] = await db.query<{ maxActiveJobs: number | null; isPaused: boolean }>(
    sql`select max_active_jobs as "maxActiveJobs", is_paused as "isPaused" from waybill.capacity`,
  );
  if (capacity?.isPaused) return 0;
  if (!capacity?.maxActiveJobs) return limit;
  await db.query(sql`select from waybill.capacity for no key update`);
  const [live] = await db.query<{ free: number }>(sql`
    select max_active_jobs - (select count(*) from waybill.execution
                               where state in ('pending', 'in_progress') and work_queue_id is not null and group_count is null) as free
      from waybill.capacity`);
  return Math.min(live?.free ?? 0, limit);
}

/** Groups that have available work and a free slot; a full one is passed over without a look at its backlog. */
async function lockGroups(db: Db): Promise<number[]> {
  const groups = await db.query<{ id: number }>(sql`
    select g.id from waybill.manifest_group g
     where g.is_enabled
       and exists (select from waybill.work_queue w where w.group_id = g.id and w.status = 'queued' and w.available_at <= waybill.now())
       and (g.max_active_jobs is null or g.max_active_jobs > (
             select count(*) from waybill.execution e
              where e.group_id = g.id and e.state in ('pending', 'in_progress') and e.work_queue_id is not null and e.group_count is null))
     order by g.id for no key update of g`);
  return groups.map(({ id }) => id);
}

/**
 * The best entries of each group up to its free slots, merged by rank with the group's priority added. Per manifest at most
 * one: a queued retry, available or not, keeps every other back, otherwise fresh comes before series; none while the manifest has an
 * unfinished execution or an open dead letter.
 */
function pickCandidates(db: Db, groupIds: number[], pools: Record<string, PoolSettings>, limit: number): Promise<Candidate[]> {
  const names = Object.keys(pools);
  const limits = names.map((name) => 2 * pools[name]!.concurrency * pools[name]!.batchSize);
  return db.query<Candidate>(sql`
    with pool as (
      select p.name, p.most - (select count(*) from waybill.execution e
                                where e.pool = p.name and e.state in ('pending', 'in_progress')
                                  and e.work_queue_id is not null and e.group_count is null) as free
        from unnest(${names}::text[], ${limits}::bigint[]) p (name, most)
    ), heads as (
      select w.id, w.manifest_id, w.lane, w.occurrence_at, w.pool, w.rank_at - make_interval(mins => g.priority) as rank_at
        from (select g.id, g.priority, coalesce(g.max_active_jobs - (
                       select count(*) from waybill.execution e
                        where e.group_id = g.id and e.state in ('pending', 'in_progress') and e.work_queue_id is not null and e.group_count is null),
                     ${limit}) as free
                from waybill.manifest_group g where g.id = any(${groupIds}::bigint[])) g
       cross join lateral (
         select w.id, w.manifest_id, w.lane, w.occurrence_at, w.rank_at, coalesce(w.pool, f.pool, 'default') as pool
           from waybill.work_queue w left join waybill.workflow f on f.name = w.workflow_name
          where w.group_id = g.id and w.status = 'queued' and w.execution_id is null and w.available_at <= waybill.now()
            and coalesce(w.pool, f.pool, 'default') in (select name from pool where free > 0)
            and not exists (select from waybill.execution e
                             where e.manifest_id = w.manifest_id and e.parent_id is null and e.finished_at is null)
            and not exists (select from waybill.dead_letter d
                             where d.manifest_id = w.manifest_id and d.status = 'awaiting_intervention')
            and not exists (select from waybill.work_queue o
                             where o.manifest_id = w.manifest_id and o.status = 'queued' and o.execution_id is null and o.id <> w.id
                               and (o.lane = 'retry' or (w.lane = 'series' and (o.lane = 'fresh' and o.available_at <= waybill.now()
                                                                               or o.lane = 'series' and o.occurrence_at < w.occurrence_at))))
          order by w.rank_at, w.id limit least(greatest(g.free, 0), ${limit})
       ) w
    ), ranked as (
      select h.*, row_number() over (partition by h.pool order by h.rank_at, h.id) as place from heads h
    )
    select r.id, r.manifest_id as "manifestId" from ranked r join pool p on p.name = r.pool and r.place <= p.free
     order by r.rank_at, r.id limit ${limit}`);
}

/** A manifest that is locked belongs to somebody who decides about it right now and pokes afterwards. */
async function lockManifests(db: Db, ids: ManifestId[]): Promise<ManifestId[]> {
  if (!ids.length) return [];
  const rows = await db.query<{ id: ManifestId }>(sql`
    select id from waybill.manifest where id = any(${ids}::bigint[]) and deleted_at is null order by id for no key update skip locked`);
  return rows.map(({ id }) => id);
}

async function lockEntries(db: Db, ids: WorkQueueId[]): Promise<WorkQueueId[]> {
  const rows = await db.query<{ id: WorkQueueId }>(sql`
    select w.id from waybill.work_queue w
     where w.id = any(${ids}::bigint[]) and w.status = 'queued'
     order by w.id for no key update skip locked`);
  return rows.map(({ id }) => id);
}

/**
 * Inserts the executions and marks exactly their entries. What changed between the pick and the locks (a run that began, a
 * dead letter) is judged again here. A schedule's or a dependency's entry takes the input that its manifest has now, and a dependent's first
 * attempt the counts that its parents have now.
 */
function admit(db: Db, entryIds: WorkQueueId[]): Promise<RingableExecution[]> {
  return db.query<RingableExecution>(sql`
    with entry as materialized (
      select nextval(pg_get_serial_sequence('waybill.execution', 'id')) as new_id, w.*, coalesce(w.pool, f.pool, 'default') as resolved_pool,
             case when w.origin in ('schedule', 'dependency') and w.attempt = 1 then coalesce(m.input, w.input) else w.input end as admitted_input,
             case when m.schedule_type = 'dependent' and w.attempt = 1
                  then (select coalesce(jsonb_object_agg(d.parent_id, p.success_count), '{}')
                          from waybill.manifest_dependency d join waybill.manifest p on p.id = d.parent_id where d.child_id = m.id)
                  else w.consumed_counts end as admitted_counts
        from waybill.work_queue w
        left join waybill.manifest m on m.id = w.manifest_id
        left join waybill.workflow f on f.name = w.workflow_name
       where w.id = any(${entryIds}::bigint[]) and w.status = 'queued'
         and not exists (select from waybill.dead_letter d where d.manifest_id = w.manifest_id and d.status = 'awaiting_intervention')
         and not exists (select from waybill.work_queue o
                          where o.manifest_id = w.manifest_id and o.status = 'queued' and o.execution_id is null and o.lane = 'retry' and o.id <> w.id)
       order by w.id
    ), admitted as (
      insert into waybill.execution (id, root_id, run_id, manifest_id, workflow_name, pool, group_id, work_queue_id, attempt, occurrence_at, origin,
                                     initiator_type, initiator_id, initiator_name, input, consumed_counts, available_at, max_attempts,
                                     timeout_seconds, backoff_initial_seconds, backoff_factor, backoff_max_seconds, backoff_jitter, priority)
      overriding system value
      select new_id, new_id, coalesce(run_id, new_id), manifest_id, workflow_name, resolved_pool, group_id, id, attempt, occurrence_at, origin,
             initiator_type, initiator_id, initiator_name, admitted_input, admitted_counts, available_at, max_attempts,
             timeout_seconds, backoff_initial_seconds, backoff_factor, backoff_max_seconds, backoff_jitter, priority
        from entry
          on conflict do nothing
      returning id, pool, work_queue_id
    ), dispatched as (
      update waybill.work_queue w set status = 'dispatched', dispatched_at = waybill.now()
        from admitted a where w.id = a.work_queue_id
    )
    select id, pool from admitted`);
}
