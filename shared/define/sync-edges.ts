import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import { InvalidInputError } from '../errors.ts';
import type { ManifestId } from '../model/ids.ts';
import { refuseCyclesAmong } from '../transitions/refuse-cycles.ts';
import type { ManifestDefinition } from './definition.ts';

interface EdgeChange {
  child: string;
  parent: string;
  /** Null for one that is only about to be created. */
  childId: ManifestId | null;
  parentId: ManifestId | null;
  parentGroup: string | null;
  isNew: boolean;
}

export interface EdgePlan {
  appeared: EdgeChange[];
  gone: EdgeChange[];
  /** Of those that exist already. */
  childIds: ManifestId[];
  /** Parents from which an edge will start counting: locked, so that no success of theirs falls between the count and the edge. */
  newParentIds: ManifestId[];
}

export interface PlanEdges {
  owner: string;
  manifests: ManifestDefinition[];
  /** The owner's manifests that are not among these will be pruned, and so are nobody's parents. */
  isComplete: boolean;
}

/** Which edges of these manifests appear and which go. Parents may belong to another owner; one that does not exist is refused by name. */
export async function planEdges(db: Db, { owner, manifests, isComplete }: PlanEdges): Promise<EdgePlan> {
  const declaredIds = manifests.map(({ externalId }) => externalId);
  const declared = manifests.flatMap(({ externalId, schedule }) =>
    'dependsOn' in schedule ? [...new Set(schedule.dependsOn)].map((parent) => ({ child: externalId, parent })) : [],
  );
  const itself = declared.find(({ child, parent }) => child === parent);
  if (itself) refuseCyclesAmong([{ ...itself, parentGroup: '', childGroup: '' }]);
  await refuseUnknownParents(db, { declared, declaredIds, removedOwner: isComplete ? owner : null });
  const changes = await db.query<EdgeChange>(sql`
    with declared as (
      select d.child, d.parent, c.id as child_id, p.id as parent_id, g.name as parent_group
        from unnest(${declared.map(({ child }) => child)}::text[], ${declared.map(({ parent }) => parent)}::text[]) d (child, parent)
        left join waybill.manifest c on c.external_id = d.child and c.deleted_at is null
        left join waybill.manifest p on p.external_id = d.parent and p.deleted_at is null
        left join waybill.manifest_group g on g.id = p.group_id
    ), present as (
      select c.external_id as child, p.external_id as parent, e.child_id, e.parent_id
        from waybill.manifest c join waybill.manifest_dependency e on e.child_id = c.id join waybill.manifest p on p.id = e.parent_id
       where c.owner = ${owner} and c.deleted_at is null and c.external_id = any(${declaredIds}::text[])
    )
    select d.child, d.parent, d.child_id as "childId", d.parent_id as "parentId", d.parent_group as "parentGroup", true as "isNew"
      from declared d
     where not exists (select from present e where e.child_id = d.child_id and e.parent_id = d.parent_id)
    union all
    select e.child, e.parent, e.child_id, e.parent_id, null, false
      from present e
     where not exists (select from declared d where d.child_id = e.child_id and d.parent_id = e.parent_id)`);
  const appeared = changes.filter(({ isNew }) => isNew);
  return {
    appeared,
    gone: changes.filter(({ isNew }) => !isNew),
    childIds: distinct(changes.map(({ childId }) => childId)),
    newParentIds: distinct(appeared.map(({ parentId }) => parentId)),
  };
}

function distinct(ids: (ManifestId | null)[]): ManifestId[] {
  return [...new Set(ids)].filter((id) => id !== null);
}

interface DeclaredEdges {
  declared: { child: string; parent: string }[];
  declaredIds: string[];
  removedOwner: string | null;
}

async function refuseUnknownParents(db: Db, { declared, declaredIds, removedOwner }: DeclaredEdges): Promise<void> {
  const known = new Set(declaredIds);
  const elsewhere = declared.filter(({ parent }) => !known.has(parent));
  if (!elsewhere.length) return;
  const unknown = await db.query<{ child: string; parent: string }>(sql`
    select d.child, d.parent
      from unnest(${elsewhere.map(({ child }) => child)}::text[], ${elsewhere.map(({ parent }) => parent)}::text[]) d (child, parent)
     where not exists (select from waybill.manifest p
                        where p.external_id = d.parent and p.deleted_at is null and p.owner is distinct from ${removedOwner})
     order by 1, 2 limit 20`);
  if (!unknown.length) return;
  const list = unknown.map(({ child, parent }) => `'${child}' depends on '${parent}'`).join(', ');
  throw new InvalidInputError(
    'unknown_parent',
    `dependents name parents that do not exist: ${list}. Declare the parent, or correct its id`,
  );
}

/**
 * Writes the edges, once every manifest exists. A new one starts at 0 for a child that never succeeded, so that what its parent achieved before counts; otherwise at the
 * parent's count, so that a new edge does not fire for old successes.
 */
export async function applyEdges(db: Db, { appeared, gone }: EdgePlan): Promise<void> {
  if (gone.length) {
    await db.query(sql`
      delete from waybill.manifest_dependency e
       using unnest(${gone.map(({ childId }) => childId)}::bigint[], ${gone.map(({ parentId }) => parentId)}::bigint[]) d (child_id, parent_id)
       where e.child_id = d.child_id and e.parent_id = d.parent_id`);
  }
  if (!appeared.length) return;
  await db.query(sql`
    insert into waybill.manifest_dependency (child_id, parent_id, consumed_success_count)
    select c.id, p.id, case when c.success_count = 0 then 0 else p.success_count end
      from unnest(${appeared.map(({ child }) => child)}::text[], ${appeared.map(({ parent }) => parent)}::text[]) d (child, parent)
      join waybill.manifest c on c.external_id = d.child and c.deleted_at is null
      join waybill.manifest p on p.external_id = d.parent and p.deleted_at is null
     order by c.id, p.id
        on conflict do nothing`);
}
