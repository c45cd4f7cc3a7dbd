import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import { ConflictError } from '../errors.ts';
import { type Edge, findCycle } from '../model/dependency-graph.ts';

/** Writers of edges and groups take turns until their commit, so that two of them cannot together make a circle that neither would alone. */
export async function lockGraph(db: Db): Promise<void> {
  await db.query(sql`select pg_advisory_xact_lock(hashtextextended(${'waybill:graph'}, 0))`);
}

/** The same, for whoever can as well come another time. */
export async function tryLockGraph(db: Db): Promise<boolean> {
  const [lock] = await db.query<{ isHeld: boolean }>(
    sql`select pg_try_advisory_xact_lock(hashtextextended(${'waybill:graph'}, 0)) as "isHeld"`,
  );
  return lock!.isHeld;
}

/** An edge with the groups of both ends: edges inside a group are fine, a circle of groups is not. */
export type GroupedEdge = Edge & { parentGroup: string; childGroup: string };

/**
 * Refuses a graph in which a manifest waits for itself, or a group for itself by way of others; edges inside a group are fine. Called after the edges were written
 * and under {@link lockGraph}, so it judges what would be committed. Every circle that a write closes leads through a manifest that it touched, so only what the groups of
 * these wait for is read: a write does not pay for everything that is registered.
 */
export async function refuseCycles(db: Db, touched: string[]): Promise<void> {
  refuseCyclesAmong(await readEdgesAbove(db, touched));
}

/** All edges between manifests that exist. */
export function readEdges(db: Db): Promise<GroupedEdge[]> {
  return db.query<GroupedEdge>(sql`
    select p.external_id as parent, c.external_id as child, pg.name as "parentGroup", cg.name as "childGroup"
      from waybill.manifest_dependency d
      join waybill.manifest p on p.id = d.parent_id and p.deleted_at is null join waybill.manifest_group pg on pg.id = p.group_id
      join waybill.manifest c on c.id = d.child_id and c.deleted_at is null join waybill.manifest_group cg on cg.id = c.group_id
     order by p.external_id, c.external_id`);
}

/** The edges that lead to the manifests of a group `r`: probes of indexes, for which 'offset 0' stands, whatever the planner takes a group's size for. */
const edgesToGroup = sql`
  cross join lateral (select id, external_id from waybill.manifest
                       where group_id = r.group_id and schedule_type in ('dependent', 'dormant_dependent') and deleted_at is null offset 0) c
  cross join lateral (select parent_id from waybill.manifest_dependency where child_id = c.id offset 0) d
  cross join lateral (select external_id, group_id from waybill.manifest where id = d.parent_id and deleted_at is null offset 0) p`;

/** The edges to the groups of these manifests, to the groups from which those come, and so on. */
function readEdgesAbove(db: Db, externalIds: string[]): Promise<GroupedEdge[]> {
  return db.query<GroupedEdge>(sql`
    with recursive above (parent, child, parent_group_id, child_group_id) as (
      select p.external_id, c.external_id, p.group_id, r.group_id
        from (select distinct group_id from waybill.manifest where external_id = any(${externalIds}::text[]) and deleted_at is null) r ${edgesToGroup}
      union
      select p.external_id, c.external_id, p.group_id, r.group_id
        from (select distinct parent_group_id as group_id from above where parent_group_id <> child_group_id) r ${edgesToGroup}
    )
    select a.parent, a.child, pg.name as "parentGroup", cg.name as "childGroup"
      from above a
     cross join lateral (select name from waybill.manifest_group where id = a.parent_group_id offset 0) pg
     cross join lateral (select name from waybill.manifest_group where id = a.child_group_id offset 0) cg
     order by a.parent, a.child`);
}

/** The same choice among edges that are not in a database. */
export function edgesAbove(edges: GroupedEdge[], groups: Iterable<string>): GroupedEdge[] {
  const entering = Map.groupBy(edges, ({ childGroup }) => childGroup);
  const reached = new Set(groups);
  // A set that grows while it is walked is walked to its end.
  for (const group of reached) for (const { parentGroup } of entering.get(group) ?? []) reached.add(parentGroup);
  return edges.filter(({ childGroup }) => reached.has(childGroup));
}

/** The same judgement on edges that are not in a database: at definition time. */
export function refuseCyclesAmong(edges: GroupedEdge[]): void {
  const cycle = findCycle(edges);
  if (cycle) throw new ConflictError('circular_dependency', `circular dependency detected among manifests: ${cycle.join(' → ')}`);
  const groups = findCycle(
    edges
      .filter(({ parentGroup, childGroup }) => parentGroup !== childGroup)
      .map(({ parentGroup, childGroup }) => ({ parent: parentGroup, child: childGroup })),
  );
  if (groups)
    throw new ConflictError(
      'circular_dependency',
      `Circular dependency detected among manifest groups: [${groups.slice(0, -1).join(', ')}]`,
    );
}
