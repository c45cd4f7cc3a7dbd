import { type Db, readNow } from '../db/database.ts';
import { edgesAbove, readEdges, refuseCyclesAmong } from '../transitions/refuse-cycles.ts';
import type { GroupDefinition, ManifestDefinition } from './definition.ts';
import { findUndeclared, type UndeclaredManifest } from './prune-manifests.ts';
import { type EdgePlan, planEdges } from './sync-edges.ts';
import { type GroupPlan, planGroups } from './sync-groups.ts';
import { type ChangedManifest, findChangedManifests, findMissingManifests } from './sync-manifests.ts';
import { type ManifestRow, toRows } from './sync-rows.ts';

/** Manifests and groups as somebody declares them. */
export interface Definitions {
  owner: string;
  groups: GroupDefinition[];
  manifests: ManifestDefinition[];
  /** They are all that the owner declares: what is missing is pruned, and settings that are no longer stated are taken back. */
  isComplete: boolean;
}

export interface ManifestPlan {
  rows: ManifestRow[];
  created: string[];
  changed: ChangedManifest[];
  edges: EdgePlan;
  undeclared: UndeclaredManifest[];
}

/** How the manifests differ from what is declared, by reading alone: nothing is locked, so nobody waits for a plan. */
export async function planManifests(db: Db, { owner, manifests, isComplete }: Definitions): Promise<ManifestPlan> {
  const rows = toRows(manifests, await readNow(db));
  const declared = manifests.map(({ externalId }) => externalId);
  return {
    rows,
    created: await findMissingManifests(db, declared),
    changed: await findChangedManifests(db, { owner, rows }),
    edges: await planEdges(db, { owner, manifests, isComplete }),
    // An app that declares nothing prunes nothing: more likely it was built wrongly than meant so.
    undeclared: isComplete && manifests.length ? await findUndeclared(db, owner, declared) : [],
  };
}

/** The whole plan, with the refusals that applying it would meet. */
export async function planDefinitions(db: Db, definitions: Definitions): Promise<{ groups: GroupPlan; manifests: ManifestPlan }> {
  const groups = await planGroups(db, definitions);
  const manifests = await planManifests(db, definitions);
  await refusePlannedCycles(db, definitions, manifests);
  return { groups, manifests };
}

/** The manifests through which a plan may close a circle: by a new edge, by another group, or by coming back with the edges they had. */
export function findTouched({ edges, changed }: Pick<ManifestPlan, 'edges' | 'changed'>): string[] {
  const moved = changed.filter(({ fields }) => fields.includes('group') || fields.includes('retiring'));
  return [...new Set([...edges.appeared.map(({ child }) => child), ...moved.map(({ externalId }) => externalId)])];
}

/** The edges as they would be. What applying a plan asks the tables after it wrote is asked here of the difference. */
async function refusePlannedCycles(db: Db, { manifests }: Definitions, plan: ManifestPlan): Promise<void> {
  const touched = findTouched(plan);
  if (!touched.length) return;
  const groups = new Map(manifests.map(({ externalId, group }) => [externalId, group]));
  const deleted = new Set(plan.undeclared.filter(({ isLive }) => !isLive).map(({ externalId }) => externalId));
  const gone = new Set(plan.edges.gone.map(({ parent, child }) => `${parent} ${child}`));
  const kept = (await readEdges(db)).filter(
    ({ parent, child }) => !gone.has(`${parent} ${child}`) && !deleted.has(parent) && !deleted.has(child),
  );
  const appeared = plan.edges.appeared.map(({ parent, child, parentGroup }) => ({
    parent,
    child,
    parentGroup: parentGroup ?? parent,
    childGroup: child,
  }));
  const edges = [...kept, ...appeared].map((edge) => ({
    ...edge,
    parentGroup: groups.get(edge.parent) ?? edge.parentGroup,
    childGroup: groups.get(edge.child) ?? edge.childGroup,
  }));
  const above = edgesAbove(
    edges,
    touched.flatMap((externalId) => groups.get(externalId) ?? []),
  );
  // As the tables give them, and in that order: of several circles the same one is named.
  refuseCyclesAmong(above.toSorted((a, b) => compare(a.parent, b.parent) || compare(a.child, b.child)));
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
