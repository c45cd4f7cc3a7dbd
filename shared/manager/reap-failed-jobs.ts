import { sql } from '../db/sql.ts';
import type { ManifestId } from '../model/ids.ts';
import type { ManifestView } from '../model/manifest.ts';
import { cancelEntries } from '../transitions/cancel-entries.ts';
import type { CycleContext } from './cycle.ts';

const LIMIT = 100;

/**
 * The net under dead letters: the transaction that records an exhausting failure writes the dead letter itself, so this
 * finds nothing unless somebody lowered `max_attempts` below what has already failed. The waiting retry goes with it; an
 * attempt that is under way decides by its own end. The manifests reaped here are shown to the next step as dead-lettered
 * without asking again.
 */
export async function reapFailedJobs<Round extends { manifests: ManifestView[] }>(round: Round, { db }: CycleContext): Promise<Round> {
  const exhausted = await db.query<{ id: ManifestId }>(sql`
    select m.id from waybill.manifest m
     where m.failed_count >= m.max_attempts and m.deleted_at is null
       and not exists (select from waybill.dead_letter d where d.manifest_id = m.id and d.status = 'awaiting_intervention')
     order by m.id limit ${LIMIT}
       for no key update of m skip locked`);
  if (!exhausted.length) return round;
  const reaped = await db.query<{ manifestId: ManifestId }>(sql`
    insert into waybill.dead_letter (manifest_id, execution_id, run_id, input, consumed_counts, reason, message, failed_count)
    select m.id, e.id, e.run_id, e.input, e.consumed_counts,
           (case when e.group_count is not null then 'plan_failed' else 'exhausted' end)::waybill.dead_letter_reason, e.failure_message, m.failed_count
      from waybill.manifest m
     cross join lateral (select * from waybill.execution x
                          where x.manifest_id = m.id and x.parent_id is null and x.state = 'failed'
                          order by x.id desc limit 1) e
     where m.id = any(${exhausted.map(({ id }) => id)}::bigint[]) and m.failed_count >= m.max_attempts
       and not exists (select from waybill.execution live
                        where live.manifest_id = m.id and live.manifest_id is not null and live.parent_id is null and live.finished_at is null)
        on conflict do nothing
    returning manifest_id as "manifestId"`);
  const ids = new Set(reaped.map(({ manifestId }) => manifestId));
  if (ids.size) await cancelEntries(db, { manifestIds: [...ids], lane: 'retry' }, 'the manifest was dead-lettered');
  return { ...round, manifests: round.manifests.map((view) => (ids.has(view.id) ? { ...view, hasAwaitingDeadLetter: true } : view)) };
}
