import { relative, resolve } from 'node:path';

/**
 * Rewrites a source map so that its sources read as if the tree below the root lay beside the bundle: a stack frame in a deployed function says
 * `/var/task/examples/etl/app.ts:12:3`, and nothing in the map names the machine that built it. What lies outside the root keeps its path from
 * the nearest shared directory on.
 */
export function renameSources(map: string, { mapDirectory, sourceRoot }: { mapDirectory: string; sourceRoot: string }): string {
  const { sources, ...rest } = JSON.parse(map) as { sources: string[] };
  const renamed = sources.map((source) => relative(sourceRoot, resolve(mapDirectory, source)).replace(/^(\.\.\/)+/, ''));
  return JSON.stringify({ ...rest, sources: renamed });
}
