import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import { ConflictError } from '../errors.ts';
import { type Edge, findCycle } from '../model/dependency-graph.ts';

/** Writers of edges and groups take turns until their commit, so that two of them cannot together make a circle that neither would alone. */
export async function lockGraph(db: Db): Promise<void> {
  await db.query(sql`select pg_advisory_xact_lock(hashtextextended(${'waybill:graph'}, 0))`);
}

/** An edge with the groups of both ends: edges inside a group are fine, a circle of groups is not. */
export type GroupedEdge = Edge & { parentGroup: string; childGroup: string };

/**
 * Refuses a graph in which a manifest waits for itself, or a group for itself by way of others; edges inside a group are fine. Called after the edges were written
 * and under {@link lockGraph}, so it judges what would be committed.
 */
export async function refuseCycles(db: Db): Promise<void> {
  refuseCyclesAmong(await readEdges(db));
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
