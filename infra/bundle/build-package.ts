import { cpSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { BundleError } from './bundle-error.ts';
import { bundleOwnFunction, ownFunctionNames } from './bundle-own-function.ts';
import { compilePackage } from './compile-package.ts';
import { describePackage } from './describe-package.ts';
import { displayPath, packageRoot } from './package-root.ts';

/*
 * `npm run package`: node build-package.ts [directory]. Builds the directory whose whole content is the npm package, by default dist/package: the
 * modules of this clone at the same paths, compiled, and our own functions bundled as the clone would deploy them, so that a project which
 * installs the package bundles nothing but its executor. Killed half-way it leaves a partial directory that the next build removes, and no
 * archive, since that is made of it afterwards.
 */

/** What the modules read at run time, and what a person reads. */
const files = ['README.md', 'CHANGELOG.md', 'cli/*.mjs', 'local/lambda/*.mjs', 'shared/db/migrations/*.sql'];

const directory = resolve(process.argv[2] ?? join(packageRoot, 'dist/package'));
try {
  rmSync(directory, { recursive: true, force: true });
  compilePackage(directory);
  for (const name of ownFunctionNames) bundleOwnFunction(name, join(directory, 'bundles', name));
  for (const file of globSync(files, { cwd: packageRoot })) cpSync(join(packageRoot, file), join(directory, file));
  // The compiler has put the clone's there, which one of the modules imports.
  const description = describePackage(JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8')));
  writeFileSync(join(directory, 'package.json'), `${JSON.stringify(description, null, 2)}\n`);
  console.log(`built ${description.name} ${description.version} into ${displayPath(directory)}`);
} catch (error) {
  if (!(error instanceof BundleError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
