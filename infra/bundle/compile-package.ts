import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { BundleError } from './bundle-error.ts';

const project = join(import.meta.dirname, 'package.tsconfig.json');

/** Compiles the sources into JavaScript and declarations below a directory, in the folders that they have here. Nothing is written if a type is wrong. */
export function compilePackage(outputDirectory: string): void {
  const compiler = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc');
  const { status, stdout, stderr, error } = spawnSync(process.execPath, [compiler, '-p', project, '--outDir', outputDirectory], {
    encoding: 'utf8',
  });
  if (error) throw error;
  if (status !== 0) throw new BundleError('not_compiled', `the sources could not be compiled:\n\n${stdout}${stderr}`.trim());
}
