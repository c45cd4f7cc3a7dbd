import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import { list } from '../model/check-activations.ts';
import { type ActivationSkipReason, InvalidActivationError } from '../model/dormant.ts';
import type { ManifestId } from '../model/ids.ts';
import type { ScheduleType } from '../model/manifest.ts';
import type { ParentExecution } from './hold-lease.ts';

/** Locks the manifests that the ids mean, so that nobody else decides about them, and gives their own ids. One that is missing does not exist. */
export async function lockDormants(db: Db, externalIds: readonly string[]): Promise<ManifestId[]> {
  const locked = await db.query<{ id: ManifestId }>(sql`
    select id from waybill.manifest
     where external_id = any(${externalIds}::text[]) and deleted_at is null
     order by id for no key update`);
  return locked.map(({ id }) => id);
}

/** A dormant dependent that its parent may activate, and what keeps it from being queued now. */
export interface JudgedDormant {
  id: ManifestId;
  externalId: string;
  skipReason: ActivationSkipReason | null;
}

interface DormantView {
  id: ManifestId;
  externalId: string;
  scheduleType: ScheduleType;
  isDependent: boolean;
  parents: string[];
  isRetiring: boolean;
  isEnabled: boolean;
  hasAwaitingDeadLetter: boolean;
  hasActiveExecution: boolean;
  hasQueuedWork: boolean;
}

/**
 * Decides about manifests that the caller has locked, in this later statement, by what is true now. Refuses all of them if one cannot be activated by this parent at all,
 * naming every such one; what only stands in the way at the moment is a reason to skip. A disabled group is none: its entries are held.
 */
export async function judgeDormants(
  db: Db,
  parent: ParentExecution,
  externalIds: readonly string[],
  ids: ManifestId[],
): Promise<Map<string, JudgedDormant>> {
  const views = new Map((await readDormants(db, parent, ids)).map((view) => [view.externalId, view]));
  const offenders = [...new Set(externalIds)].flatMap((externalId) => {
    const problem = findProblem(externalId, views.get(externalId), parent);
    return problem === undefined ? [] : [{ externalId, problem }];
  });
  if (offenders.length)
    throw new InvalidActivationError(
      'invalid_activation',
      `'${parent.externalId}' cannot activate these, so nothing was queued: ${list(offenders.map(({ problem }) => problem))}`,
      offenders.map(({ externalId }) => externalId),
    );
  return new Map([...views].map(([externalId, view]) => [externalId, { id: view.id, externalId, skipReason: findSkipReason(view) }]));
}

function readDormants(db: Db, { manifestId }: ParentExecution, ids: ManifestId[]): Promise<DormantView[]> {
  return db.query<DormantView>(sql`
    select m.id, m.external_id as "externalId", m.schedule_type as "scheduleType", m.retiring_at is not null as "isRetiring", m.is_enabled as "isEnabled",
           exists (select from waybill.manifest_dependency d where d.child_id = m.id and d.parent_id = ${manifestId}) as "isDependent",
           array(select p.external_id from waybill.manifest_dependency d join waybill.manifest p on p.id = d.parent_id
                  where d.child_id = m.id order by p.id limit 5) as parents,
           exists (select from waybill.dead_letter d
                    where d.manifest_id = m.id and d.manifest_id is not null and d.status = 'awaiting_intervention') as "hasAwaitingDeadLetter",
           exists (select from waybill.execution e
                    where e.manifest_id = m.id and e.manifest_id is not null and e.parent_id is null and e.finished_at is null) as "hasActiveExecution",
           exists (select from waybill.work_queue w
                    where w.manifest_id = m.id and w.manifest_id is not null and w.status = 'queued' and w.lane <> 'series' and w.execution_id is null) as "hasQueuedWork"
      from waybill.manifest m
     where m.id = any(${ids}::bigint[])`);
}

function findProblem(externalId: string, view: DormantView | undefined, parent: ParentExecution): string | undefined {
  if (!view) return `'${externalId.slice(0, 200)}' does not exist`;
  if (view.scheduleType !== 'dormant_dependent')
    return `'${externalId}' is not dormant, its schedule is '${view.scheduleType}': declare it with dormant: true, or trigger it`;
  if (view.isDependent) return undefined;
  const parents = view.parents.map((name) => `'${name}'`).join(', ') || 'nothing';
  return `'${externalId}' depends on ${parents}, not on '${parent.externalId}'`;
}

/** What a person would have to mend comes before what passes by itself. */
function findSkipReason(view: DormantView): ActivationSkipReason | null {
  if (view.isRetiring) return 'retiring';
  if (!view.isEnabled) return 'disabled';
  if (view.hasAwaitingDeadLetter) return 'dead_letter';
  if (view.hasActiveExecution) return 'running';
  return view.hasQueuedWork ? 'already_queued' : null;
}
