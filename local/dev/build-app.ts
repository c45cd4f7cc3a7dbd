import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BundleError } from '../../infra/bundle/bundle-error.ts';
import { bundleExecutor } from '../../infra/bundle/bundle-executor.ts';
import { evaluateApp } from '../../infra/bundle/evaluate-app.ts';
import { listInputs } from '../../infra/bundle/list-inputs.ts';
import { writeManifests } from '../../infra/bundle/write-manifests.ts';

/*
 * Run as a process of its own: node build-app.ts <entry> <output directory> <directory of the sync function's code>. Builds what depends on the
 * app alone, which is what a change in it needs: the executor's bundle, and sync's with new definitions beside the same code.
 */
const [entry = '', outputDirectory = '', syncDirectory = ''] = process.argv.slice(2);
try {
  const executor = bundleExecutor({ app: entry, outputDirectory: join(outputDirectory, 'executor') });
  const definition = evaluateApp({ bundleDirectory: executor.directory, entry });
  cpSync(syncDirectory, join(outputDirectory, 'sync'), { recursive: true });
  writeManifests(definition, join(outputDirectory, 'sync'));
  writeFileSync(join(outputDirectory, 'inputs.json'), JSON.stringify(listInputs(executor)));
} catch (error) {
  if (!(error instanceof BundleError)) throw error;
  console.error(error.message);
  process.exit(1);
}
