import { metricGroup } from '../db/queries/metric-group.ts';
import { sql } from '../db/sql.ts';
import type { ManifestId } from '../model/ids.ts';
import type { ManifestView } from '../model/manifest.ts';
import type { EndedRun } from '../transitions/end-runs.ts';
import type { CycleContext } from './cycle.ts';

/**
 * Takes a batch of due manifests. A row that is locked belongs to somebody who decides about it right now and pokes afterwards, so it is skipped. The
 * flags are read in a second statement: a subquery in the locking one would see what was true before the lock.
 */
export async function loadManifests(
  round: { recovered: EndedRun[] },
  { db, batchSize }: CycleContext,
): Promise<typeof round & { manifests: ManifestView[] }> {
  const locked = await db.query<{ id: ManifestId }>(sql`
    select id from waybill.manifest
     where next_due_at <= waybill.now()
     order by next_due_at, id limit ${batchSize}
       for no key update skip locked`);
  if (!locked.length) return { ...round, manifests: [] };
  const manifests = await db.query<ManifestView>(sql`
    select m.id, m.external_id as "externalId", m.schedule_type as "scheduleType", m.cron_expression as "cronExpression",
           m.time_zone as "timeZone", m.interval_seconds as "intervalSeconds", m.anchor, m.misfire_policy as "misfirePolicy",
           m.misfire_threshold_seconds as "misfireThresholdSeconds", m.misfire_limit as "misfireLimit", m.exclusions,
           m.jitter_seconds as "jitterSeconds", m.dependency_mode as "dependencyMode", m.next_occurrence_at as "nextOccurrenceAt", m.next_due_at as "nextDueAt",
           m.failed_count as "failedCount", g.is_enabled as "groupEnabled", ${metricGroup} as "metricGroup", coalesce(edge.parents, '[]') as parents,
           exists (select from waybill.dead_letter d
                    where d.manifest_id = m.id and d.manifest_id is not null and d.status = 'awaiting_intervention') as "hasAwaitingDeadLetter",
           coalesce(queued.is_now, false) as "hasQueuedWork", queued.delayed_id as "delayedEntryId",
           exists (select from waybill.execution e
                    where e.manifest_id = m.id and e.manifest_id is not null and e.parent_id is null and e.finished_at is null) as "hasActiveExecution"
      from waybill.manifest m
      join waybill.manifest_group g on g.id = m.group_id
      left join lateral (
        select json_agg(json_build_object('id', p.id, 'successCount', p.success_count, 'consumedCount', d.consumed_success_count,
                                          'isEnabled', p.is_enabled, 'isDeleted', p.deleted_at is not null)) as parents
          from waybill.manifest_dependency d join waybill.manifest p on p.id = d.parent_id
         where d.child_id = m.id and m.schedule_type = 'dependent'
      ) edge on true
      left join lateral (
        select bool_or(not delayed.is_trigger) as is_now, max(w.id) filter (where delayed.is_trigger) as delayed_id
          from waybill.work_queue w
         cross join lateral (select w.lane = 'fresh' and w.origin <> 'schedule' and w.available_at > waybill.now() as is_trigger) delayed
         where w.manifest_id = m.id and w.manifest_id is not null and w.status = 'queued' and w.lane in ('fresh', 'retry') and w.execution_id is null
      ) queued on true
     where m.id = any(${locked.map(({ id }) => id)}::bigint[]) and m.next_due_at <= waybill.now()
     order by m.next_due_at, m.id`);
  return { ...round, manifests };
}
