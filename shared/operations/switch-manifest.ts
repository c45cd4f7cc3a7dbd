import { type Db, readNow } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import { messageOf } from '../errors.ts';
import type { ManifestId } from '../model/ids.ts';
import { nextOccurrence } from '../time/next-occurrence.ts';
import { lockWithChildren } from '../transitions/lock-with-children.ts';
import { markDue } from '../transitions/mark-due.ts';
import type { OperationContext } from './context.ts';
import { type LockedManifest, lockManifest } from './lock-manifest.ts';
import { isExternalId } from './paging.ts';
import { recordAudit } from './record-audit.ts';

/** Lets a manifest's schedule rest. It cancels nothing; an explicit trigger still runs. */
export async function disableManifest(context: OperationContext, externalId: string): Promise<void> {
  await context.database.transaction(async (db) => {
    const manifest = await lockManifest(db, externalId);
    if (!manifest.isEnabled) return;
    await db.query(sql`
      update waybill.manifest set is_enabled = false, next_due_at = null, version = version + 1, updated_at = waybill.now() where id = ${manifest.id}`);
    await recordAudit(db, context.initiator, { action: 'manifest.disable', targetType: 'manifest', target: externalId });
  });
}

/**
 * Lets it go on from now: time spent disabled is never a misfire. One that is quarantined stays so, with the occurrence that was refused, until it is redefined. Its dependents are looked at too, since a disabled parent's edge is unmet. Children are locked with
 * it, in the order of ids, so that no outcome waits in a circle.
 */
export async function enableManifest(context: OperationContext, externalId: string): Promise<void> {
  await context.database.transaction(async (db) => {
    if (isExternalId(externalId)) await lockWithChildren(db, externalId);
    const manifest = await lockManifest(db, externalId);
    if (manifest.isEnabled) return;
    const resume = await resumeSchedule(db, manifest);
    await db.query(sql`
      update waybill.manifest
         set is_enabled = true, version = version + 1, updated_at = waybill.now(),
             quarantine_error = coalesce(${resume.quarantineError}, quarantine_error),
             next_occurrence_at = case when coalesce(${resume.quarantineError}, quarantine_error) is not null then next_occurrence_at
                                       when schedule_type = 'cron' then ${resume.nextOccurrenceAt}::timestamptz
                                       when schedule_type = 'interval' then waybill.next_on_grid(next_occurrence_at, interval_seconds)
                                       else next_occurrence_at end
       where id = ${manifest.id}`);
    await markDue(db, [manifest.id, ...(await findChildren(db, manifest.id))]);
    await recordAudit(db, context.initiator, { action: 'manifest.enable', targetType: 'manifest', target: externalId });
  });
  await context.doorbell.pokeManager();
}

/** An expression that can no longer be computed (its zone was dropped, say) quarantines the manifest instead of failing the switch. */
async function resumeSchedule(
  db: Db,
  { id, scheduleType }: LockedManifest,
): Promise<{ nextOccurrenceAt: Date | null; quarantineError: string | null }> {
  if (scheduleType !== 'cron') return { nextOccurrenceAt: null, quarantineError: null };
  const [row] = await db.query<{ expression: string; timeZone: string }>(
    sql`select cron_expression as expression, time_zone as "timeZone" from waybill.manifest where id = ${id}`,
  );
  try {
    return { nextOccurrenceAt: nextOccurrence({ type: 'cron', ...row! }, await readNow(db)) ?? null, quarantineError: null };
  } catch (error) {
    return { nextOccurrenceAt: null, quarantineError: messageOf(error) };
  }
}

/** Locked at the beginning, but for those whose edge was written while this one waited. */
async function findChildren(db: Db, parentId: ManifestId): Promise<ManifestId[]> {
  const children = await db.query<{ id: ManifestId }>(sql`
    select m.id from waybill.manifest m
     where m.id in (select d.child_id from waybill.manifest_dependency d where d.parent_id = ${parentId}) and m.schedule_type = 'dependent'
     order by m.id for no key update`);
  return children.map(({ id }) => id);
}
