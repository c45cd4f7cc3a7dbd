import { sql } from '../db/sql.ts';
import { InvalidInputError, NotFoundError } from '../errors.ts';
import type { ManifestId } from '../model/ids.ts';
import { markDue } from '../transitions/mark-due.ts';
import { lockGraph } from '../transitions/refuse-cycles.ts';
import type { OperationContext } from './context.ts';
import { isName } from './paging.ts';
import { recordAudit } from './record-audit.ts';

export interface GroupChange {
  priority?: number;
  /** Null lifts the limit. */
  maxActiveJobs?: number | null;
  isEnabled?: boolean;
}

interface GroupSettings {
  priority: number;
  maxActiveJobs: number | null;
  isEnabled: boolean;
}

/** Changes what manifests share. Switching a group on looks again at all that it held; lowering a limit ends nothing that runs. */
export async function changeGroup({ database, doorbell, initiator }: OperationContext, name: string, change: GroupChange): Promise<void> {
  checkChange(change);
  await database.transaction(async (db) => {
    await lockGraph(db);
    const [group] = isName(name)
      ? await db.query<GroupSettings & { id: number }>(sql`
          select id, priority, max_active_jobs as "maxActiveJobs", is_enabled as "isEnabled" from waybill.manifest_group where name = ${name} for no key update`)
      : [];
    if (!group) throw new NotFoundError('group_not_found', `group '${name}' does not exist: GET /v1/groups lists those that do`);
    const { id, ...before } = group;
    const after: GroupSettings = {
      priority: change.priority ?? before.priority,
      maxActiveJobs: change.maxActiveJobs === undefined ? before.maxActiveJobs : change.maxActiveJobs,
      isEnabled: change.isEnabled ?? before.isEnabled,
    };
    await db.query(sql`
      update waybill.manifest_group
         set priority = ${after.priority}, max_active_jobs = ${after.maxActiveJobs}, is_enabled = ${after.isEnabled}, updated_at = waybill.now()
       where id = ${id}`);
    if (after.isEnabled && !before.isEnabled) {
      const held = await db.query<{ id: ManifestId }>(sql`
        select id from waybill.manifest
         where group_id = ${id} and deleted_at is null and schedule_type in ('dependent', 'once')
         order by id for no key update`);
      await markDue(
        db,
        held.map((manifest) => manifest.id),
      );
    }
    await recordAudit(db, initiator, { action: 'group.change', targetType: 'group', target: name, before, after });
  });
  await Promise.all([doorbell.pokeDispatcher(), doorbell.pokeManager()]);
}

function checkChange({ priority, maxActiveJobs, isEnabled }: GroupChange): void {
  if (priority === undefined && maxActiveJobs === undefined && isEnabled === undefined)
    throw new InvalidInputError('invalid_request', 'nothing to change was given: give priority, maxActiveJobs or isEnabled');
  const isWhole = (value: number, least: number, most: number) => Number.isInteger(value) && value >= least && value <= most;
  if (priority !== undefined && !isWhole(priority, 0, 31)) {
    throw new InvalidInputError('invalid_request', `priority must be a whole number from 0 to 31, got ${priority}`);
  }
  if (maxActiveJobs !== undefined && maxActiveJobs !== null && !isWhole(maxActiveJobs, 1, 1_000_000)) {
    throw new InvalidInputError(
      'invalid_request',
      `maxActiveJobs must be a whole number from 1 to 1000000, or null for no limit, got ${maxActiveJobs}`,
    );
  }
}
