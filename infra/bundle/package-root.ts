import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The directory that holds this package: the clone itself, or `node_modules/waybill` in a project that installed it. */
export const packageRoot = fileURLToPath(new URL('../../', import.meta.url)).replace(/\/$/, '');

/** The clone holds the sources, which Node runs as they are; the package holds JavaScript made from them, because Node refuses to in `node_modules`. */
export const isClone = import.meta.url.endsWith('.ts');

/** The file of one of our own modules, by its path without an ending: `infra/app` is `infra/app.ts` in the clone and `infra/app.js` in the package. */
export function ownModule(path: string): string {
  return join(packageRoot, `${path}${isClone ? '.ts' : '.js'}`);
}

/** A path as a person at this prompt would type it; one that lies elsewhere stays absolute. */
export function displayPath(path: string): string {
  const fromHere = relative(process.cwd(), path);
  return fromHere === '' || fromHere.startsWith('..') ? path : fromHere;
}
