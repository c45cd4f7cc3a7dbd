import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import { WaybillError } from '../errors.ts';
import type { ManifestId } from '../model/ids.ts';
import type { ManifestDefinition } from './definition.ts';

interface EdgeChange {
  childId: ManifestId;
  externalId: string;
  parentId: ManifestId;
  isNew: boolean;
}

export interface EdgeDiff {
  changes: EdgeChange[];
  childIds: ManifestId[];
  /** Parents from which an edge will start counting: locked, so that no success of theirs falls between the count and the edge. */
  newParentIds: ManifestId[];
  children: { externalId: string }[];
}

/** Which edges of these manifests appear and which go. Parents may belong to another owner; one that does not exist is refused by name. */
export async function diffEdges(db: Db, owner: string, manifests: ManifestDefinition[]): Promise<EdgeDiff> {
  const declared = manifests.flatMap(({ externalId, schedule }) =>
    'dependsOn' in schedule ? schedule.dependsOn.map((parent) => ({ child: externalId, parent })) : [],
  );
  await refuseUnknownParents(db, declared);
  const changes = await db.query<EdgeChange>(sql`
    with declared as (
      select c.id as child_id, c.external_id, p.id as parent_id
        from jsonb_to_recordset(${JSON.stringify(declared)}::jsonb) as d (child text, parent text)
        join waybill.manifest c on c.external_id = d.child and c.deleted_at is null
        join waybill.manifest p on p.external_id = d.parent and p.deleted_at is null
    ), present as (
      select e.child_id, c.external_id, e.parent_id
        from waybill.manifest_dependency e join waybill.manifest c on c.id = e.child_id
       where c.owner = ${owner} and c.deleted_at is null and c.external_id = any(${manifests.map(({ externalId }) => externalId)}::text[])
    )
    select child_id as "childId", external_id as "externalId", parent_id as "parentId", true as "isNew"
      from (select * from declared except select * from present) appeared
    union all
    select child_id, external_id, parent_id, false from (select * from present except select * from declared) gone`);
  return {
    changes,
    childIds: [...new Set(changes.map(({ childId }) => childId))],
    newParentIds: [...new Set(changes.filter(({ isNew }) => isNew).map(({ parentId }) => parentId))],
    children: changes,
  };
}

async function refuseUnknownParents(db: Db, declared: { child: string; parent: string }[]): Promise<void> {
  const unknown = await db.query<{ child: string; parent: string }>(sql`
    select d.child, d.parent from jsonb_to_recordset(${JSON.stringify(declared)}::jsonb) as d (child text, parent text)
     where not exists (select from waybill.manifest p where p.external_id = d.parent and p.deleted_at is null)
     order by 1, 2 limit 20`);
  if (!unknown.length) return;
  const list = unknown.map(({ child, parent }) => `'${child}' depends on '${parent}'`).join(', ');
  throw new WaybillError('unknown_parent', `dependents name parents that do not exist: ${list}. Declare the parent, or correct its id`);
}

/**
 * Writes the edges. A new one starts at 0 for a child that never succeeded, so that what its parent achieved before counts; otherwise at the parent's count, so
 * that a new edge does not fire for old successes.
 */
export async function applyEdges(db: Db, { changes }: EdgeDiff): Promise<void> {
  const appeared = changes.filter(({ isNew }) => isNew);
  const gone = changes.filter(({ isNew }) => !isNew);
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
      from unnest(${appeared.map(({ childId }) => childId)}::bigint[], ${appeared.map(({ parentId }) => parentId)}::bigint[]) d (child_id, parent_id)
      join waybill.manifest c on c.id = d.child_id join waybill.manifest p on p.id = d.parent_id
     order by c.id, p.id
        on conflict do nothing`);
}
