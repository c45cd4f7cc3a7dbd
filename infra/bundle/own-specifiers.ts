import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from './package-root.ts';

/** As package.json writes them: the clone names a source, the package a declaration and the JavaScript beside it. */
export type Exports = Readonly<Record<string, string | { readonly types: string; readonly default: string }>>;

/** The file that `waybill`, and each of `waybill/client` and its like, stands for. Data that is exported is no module and left out. */
export function readOwnSpecifiers(): Record<string, string> {
  const { name, exports } = JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8')) as { name: string; exports: Exports };
  const files = Object.entries(exports).map(([path, target]) => [
    path.replace('.', name),
    join(packageRoot, typeof target === 'string' ? target : target.default),
  ]);
  return Object.fromEntries(files.filter(([, file]) => !file?.endsWith('.json')));
}
