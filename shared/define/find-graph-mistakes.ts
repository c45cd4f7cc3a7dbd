import { type Edge, findCycle } from '../model/dependency-graph.ts';
import type { AnyDeclaration } from './declaration.ts';

/** More than these at once would tell nobody anything. */
const mostCircles = 10;

/**
 * Circles among this app's manifests, and among its groups; edges inside a group are fine. What a parent of another app adds is known only to the database, which
 * checks again. A graph without circles in which every dependent has a parent has nothing that could never run: every way up ends in a schedule, in somebody
 * who asks, or in another app.
 */
export function findGraphMistakes(declarations: AnyDeclaration[]): string[] {
  const groups = new Map(declarations.map(({ manifest }) => [manifest.externalId, manifest.group]));
  const edges = declarations.flatMap(({ manifest: { externalId, schedule } }) =>
    'dependsOn' in schedule
      ? schedule.dependsOn.filter((parent) => groups.has(parent)).map((parent) => ({ parent, child: externalId }))
      : [],
  );
  const manifests = findCircles(edges);
  // A circle of manifests from several groups is one of groups too, and is told once.
  const between = manifests.rest
    .map(({ parent, child }) => ({ parent: groups.get(parent)!, child: groups.get(child)! }))
    .filter(({ parent, child }) => parent !== child);
  return [
    ...manifests.circles.map((names) => `circular dependency detected among manifests: ${names.join(' → ')}`),
    ...findCircles(between).circles.map(
      (names) => `Circular dependency detected among manifest groups: [${names.slice(0, -1).join(', ')}]`,
    ),
  ];
}

/** Circles that have no edge in common, so that each needs a mending of its own, and the edges that are in none of them. */
function findCircles(edges: Edge[]): { circles: string[][]; rest: Edge[] } {
  const circles: string[][] = [];
  let rest = edges;
  while (circles.length < mostCircles) {
    const circle = findCycle(rest);
    if (!circle) break;
    circles.push(circle);
    const next = new Map(circle.slice(0, -1).map((name, index) => [name, circle[index + 1]]));
    rest = rest.filter(({ parent, child }) => next.get(parent) !== child);
  }
  return { circles, rest };
}
