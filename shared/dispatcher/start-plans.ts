import type { Database, Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { ManifestId, WorkQueueId } from '../model/ids.ts';
import { type EndedRun, endRuns } from '../transitions/end-runs.ts';
import { isItsTurn } from './admissible-work.ts';
import { createPlans } from './create-plans.ts';
import { lockForAdmission } from './lock-manifests.ts';

export interface StartedPlans {
  startedCount: number;
  /** Plans with nothing to run: they have succeeded at once. */
  ended: EndedRun[];
  /** As many as one transaction takes. */
  mayHaveMore: boolean;
  /** Somebody held the manifest of one. */
  hasPassedOver: boolean;
}

interface DuePlan {
  id: WorkQueueId;
  groupId: number;
  manifestId: ManifestId;
}

/**
 * Starts the plans whose turn it is, best first. A plan takes no slot and no pool, so a full group does not hold it back: its steps wait there, where everybody sees them. What holds it is what
 * holds every entry: its manifest, a disabled group, a pause.
 *
 * One transaction makes the plan's execution, all of its steps, and the entries of its first group. Killed before the commit, nothing was started and its entry is in the queue; killed after it, the entries of
 * the steps are, and the next claim, which this dispatcher or the manager's next cycle brings about, admits them.
 *
 * Groups are locked before manifests, as by every claim: who disables one knows that nothing of it starts afterwards. A manifest or an entry that is locked belongs to somebody who
 * decides about it; it is looked at again. What was found before the locks is judged again after them.
 */
export async function startPlans(database: Database, limit: number): Promise<StartedPlans> {
  const none: StartedPlans = { startedCount: 0, ended: [], mayHaveMore: false, hasPassedOver: false };
  const due = await findDuePlans(database, limit);
  if (!due.length) return none;
  return database.transaction(async (db) => {
    await db.query(sql`
      select from waybill.manifest_group where id = any(${due.map(({ groupId }) => groupId)}::bigint[]) order by id for no key update`);
    const { locked, hasPassedOver } = await lockForAdmission(
      db,
      due.map(({ manifestId }) => manifestId),
    );
    const entryIds = await lockEntries(
      db,
      due.filter(({ manifestId }) => locked.has(manifestId)),
      limit,
    );
    if (!entryIds.length) return { ...none, hasPassedOver };
    const planIds = await createPlans(db, entryIds);
    // Locks what a plan without steps makes due after its own manifest. That is seldom, and a deadlock would only begin this transaction anew.
    const ended = await endRuns(db, [], { advance: planIds });
    return { startedCount: planIds.length, ended, mayHaveMore: planIds.length > 0 && due.length === limit, hasPassedOver };
  });
}

const isDue = sql`
  w.status = 'queued' and w.workflow_name is null and w.execution_id is null and w.available_at <= (select waybill.now()) and ${isItsTurn}
  and exists (select from waybill.manifest_group g where g.id = w.group_id and g.is_enabled) and not (select c.is_paused from waybill.capacity c)`;

function findDuePlans(db: Db, limit: number): Promise<DuePlan[]> {
  return db.query<DuePlan>(sql`
    select w.id, w.group_id as "groupId", w.manifest_id as "manifestId" from waybill.work_queue w where ${isDue} order by w.rank_at, w.id limit ${limit}`);
}

/** An entry that was moved to another group meanwhile comes next time: that group is not locked. */
async function lockEntries(db: Db, due: DuePlan[], limit: number): Promise<WorkQueueId[]> {
  if (!due.length) return [];
  const locked = await db.query<{ id: WorkQueueId; groupId: number }>(sql`
    select w.id, w.group_id as "groupId" from waybill.work_queue w
     where w.id = any(${due.map(({ id }) => id)}::bigint[]) and ${isDue}
     order by w.id limit ${limit} for no key update skip locked`);
  const groupOf = new Map(locked.map(({ id, groupId }) => [id, groupId]));
  return due.filter(({ id, groupId }) => groupOf.get(id) === groupId).map(({ id }) => id);
}
