import { sql } from '../db/sql.ts';
import type { ManifestId } from '../model/ids.ts';
import type { ManifestView } from '../model/manifest.ts';
import type { EndedRun } from '../transitions/end-runs.ts';
import type { CycleContext } from './cycle.ts';

/**
 * Takes a batch of due manifests. A row that is locked belongs to somebody who decides about it right now and pokes
 * afterwards, so it is skipped. The flags are read in a second statement: a subquery in the locking one would see what was
 * true before the lock.
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
  const manifests = await db.query<ManifestView>(sql`
    select m.id, m.external_id as "externalId", m.schedule_type as "scheduleType", m.cron_expression as "cronExpression",
           m.time_zone as "timeZone", m.interval_seconds as "intervalSeconds", m.anchor, m.misfire_policy as "misfirePolicy",
           m.misfire_threshold_seconds as "misfireThresholdSeconds", m.exclusions, m.next_occurrence_at as "nextOccurrenceAt",
           m.next_due_at as "nextDueAt", m.failed_count as "failedCount", g.is_enabled as "groupEnabled",
           exists (select from waybill.dead_letter d
                    where d.manifest_id = m.id and d.status = 'awaiting_intervention') as "hasAwaitingDeadLetter",
           exists (select from waybill.work_queue w
                    where w.manifest_id = m.id and w.status = 'queued' and w.lane <> 'series' and w.execution_id is null) as "hasQueuedWork",
           exists (select from waybill.execution e
                    where e.manifest_id = m.id and e.parent_id is null and e.finished_at is null) as "hasActiveExecution"
      from waybill.manifest m join waybill.manifest_group g on g.id = m.group_id
     where m.id = any(${locked.map(({ id }) => id)}::bigint[]) and m.next_due_at <= waybill.now()
     order by m.next_due_at, m.id limit ${batchSize}`);
  return { ...round, manifests };
}
