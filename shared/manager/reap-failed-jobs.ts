import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { ManifestId } from '../model/ids.ts';
import type { ManifestView } from '../model/manifest.ts';
import { cancelEntries } from '../transitions/cancel-entries.ts';
import type { CycleContext } from './cycle.ts';

const LIMIT = 100;

/** The manifest `m` is to be reaped for its last failure: it has failed too often, nobody has been told, and no attempt is under way that would decide by its own end. */
const isToBeReaped = sql`
  m.failed_count >= m.max_attempts and m.deleted_at is null
  and not exists (select from waybill.dead_letter d where d.manifest_id = m.id and d.manifest_id is not null and d.status = 'awaiting_intervention')
  and not exists (select from waybill.execution live
                   where live.manifest_id = m.id and live.manifest_id is not null and live.parent_id is null and live.finished_at is null)`;

/** A row `e` with the last failure of the manifest `m`, if there is one. */
const lastFailure = sql`lateral (
  select x.* from waybill.execution x
   where x.manifest_id = m.id and x.manifest_id is not null and x.parent_id is null and x.state = 'failed' order by x.id desc limit 1) e`;

/**
 * The net under dead letters: the transaction that records an exhausting failure writes the dead letter itself, so this
 * finds nothing unless somebody lowered `max_attempts` below what has already failed. The waiting retry goes with it; an
 * attempt that is under way decides by its own end. The manifests reaped here are shown to the next step as dead-lettered
 * without asking again.
 */
export async function reapFailedJobs<Round extends { manifests: ManifestView[] }>(round: Round, { db }: CycleContext): Promise<Round> {
  const found = await findExhausted(db);
  if (!found.length) return round;
  const reaped = await writeDeadLetters(db, await lock(db, found));
  if (!reaped.length) return round;
  await cancelEntries(db, { manifestIds: reaped, lane: 'retry' }, 'the manifest was dead-lettered');
  const ids = new Set(reaped);
  return { ...round, manifests: round.manifests.map((view) => (ids.has(view.id) ? { ...view, hasAwaitingDeadLetter: true } : view)) };
}

/** Looks without locks, so that the many that wait for a person are not written to in every cycle; it is asked again under the lock. */
async function findExhausted(db: Db): Promise<ManifestId[]> {
  const rows = await db.query<{ id: ManifestId }>(sql`
    select m.id from waybill.manifest m cross join ${lastFailure} where ${isToBeReaped} order by m.id limit ${LIMIT}`);
  return rows.map(({ id }) => id);
}

/** One that is missing from the answer belongs to somebody who decides about it right now; if it stays exhausted, the next cycle finds it. */
async function lock(db: Db, ids: ManifestId[]): Promise<ManifestId[]> {
  const rows = await db.query<{ id: ManifestId }>(
    sql`select id from waybill.manifest where id = any(${ids}::bigint[]) order by id for no key update skip locked`,
  );
  return rows.map(({ id }) => id);
}

async function writeDeadLetters(db: Db, lockedIds: ManifestId[]): Promise<ManifestId[]> {
  const rows = await db.query<{ manifestId: ManifestId }>(sql`
    insert into waybill.dead_letter (manifest_id, execution_id, run_id, input, consumed_counts, reason, message, failed_count)
    select m.id, e.id, e.run_id, e.input, e.consumed_counts,
           (case when e.group_count is not null then 'plan_failed' else 'exhausted' end)::waybill.dead_letter_reason, e.failure_message, m.failed_count
      from waybill.manifest m cross join ${lastFailure}
     where m.id = any(${lockedIds}::bigint[]) and ${isToBeReaped}
        on conflict do nothing
    returning manifest_id as "manifestId"`);
  return rows.map(({ manifestId }) => manifestId);
}
