import type { Exports } from './own-specifiers.ts';

/** What is read here of the clone's package.json; everything else is passed on as it is. */
export interface PackageDescription {
  readonly name: string;
  readonly version: string;
  readonly exports: Readonly<Record<string, string>>;
  readonly [field: string]: unknown;
}

/** What only the clone uses: how it is worked on, and with which tools. */
const ownAffairs = new Set(['private', 'scripts', 'devDependencies', 'overrides', 'allowScripts']);

/**
 * The package.json that is packed, from the clone's. In the clone `waybill` is its own TypeScript, so that nothing has to be built first; npm does
 * not let a package publish other exports than it works with, so the packed description is a file of its own.
 */
export function describePackage({ exports, ...clone }: PackageDescription): Record<string, unknown> {
  const kept = Object.entries(clone).filter(([field]) => !ownAffairs.has(field));
  return { ...Object.fromEntries(kept), engines: { node: '>=24' }, exports: toCompiled(exports) };
}

/** `./shared/index.ts` was compiled into a declaration, which must be named first to be found, and JavaScript. */
function toCompiled(exports: PackageDescription['exports']): Exports {
  const compiled = Object.entries(exports).map(([path, source]) => {
    const module = source.replace(/\.ts$/, '');
    return [path, { types: `${module}.d.ts`, default: `${module}.js` }];
  });
  return { ...Object.fromEntries(compiled), './package.json': './package.json' };
}
