import { resolve } from 'node:path';
import type { Bundle } from './bundle-function.ts';
import { packageRoot } from './package-root.ts';

/** The source files that went into a bundle, without those of installed packages: what a watcher should look at. */
export function listInputs({ outputs }: Pick<Bundle, 'outputs'>): string[] {
  const paths = Object.values(outputs).flatMap(({ inputs }) => Object.keys(inputs));
  return [...new Set(paths)].filter((path) => !path.includes('node_modules/')).map((path) => resolve(packageRoot, path));
}
