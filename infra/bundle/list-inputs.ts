import { resolve, sep } from 'node:path';
import type { Bundle } from './bundle-function.ts';
import { packageRoot } from './package-root.ts';

/** The source files that a bundle was made from, without those of installed packages: what a watcher should look at. */
export function listInputs({ inputs }: Pick<Bundle, 'inputs'>): string[] {
  return inputs.map((path) => resolve(packageRoot, path)).filter((path) => !path.includes(`${sep}node_modules${sep}`));
}
