/** An edge from what must succeed to what then runs. */
export interface Edge {
  parent: string;
  child: string;
}

/** A circle among the edges, as the names along it with the first one repeated at the end; undefined when there is none. */
export function findCycle(edges: readonly Edge[]): string[] | undefined {
  const children = Map.groupBy(edges, ({ parent }) => parent);
  const done = new Set<string>();
  for (const start of children.keys()) {
    // An explicit stack: a chain of many thousand manifests would exhaust the call stack.
    const path: { name: string; next: number }[] = [{ name: start, next: 0 }];
    const onPath = new Set([start]);
    while (path.length) {
      const top = path.at(-1)!;
      const edge = done.has(top.name) ? undefined : children.get(top.name)?.[top.next++];
      if (!edge) {
        done.add(top.name);
        onPath.delete(top.name);
        path.pop();
      } else if (onPath.has(edge.child)) {
        const names = path.map(({ name }) => name);
        return [...names.slice(names.indexOf(edge.child)), edge.child];
      } else if (!done.has(edge.child)) {
        path.push({ name: edge.child, next: 0 });
        onPath.add(edge.child);
      }
    }
  }
  return undefined;
}
