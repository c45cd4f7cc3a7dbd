import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The directory that holds this package: the clone itself, or `node_modules/waybill` in a project that installed it. */
export const packageRoot = fileURLToPath(new URL('../../', import.meta.url)).replace(/\/$/, '');

/** A path as a person at this prompt would type it; one that lies elsewhere stays absolute. */
export function displayPath(path: string): string {
  const fromHere = relative(process.cwd(), path);
  return fromHere === '' || fromHere.startsWith('..') ? path : fromHere;
}
