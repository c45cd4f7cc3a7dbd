import { join, resolve } from 'node:path';
import { buildBundles } from './build-bundles.ts';
import { BundleError } from './bundle-error.ts';
import { displayPath, packageRoot } from './package-root.ts';
import { reportSizes } from './report-sizes.ts';

/* `npm run build [-- <app>]`: the bundles as a deployment would ship them, to look at and to measure. */
const app = resolve(process.argv[2] ?? join(packageRoot, 'examples/etl/app.ts'));
const outputDirectory = join(packageRoot, 'dist/bundles');
try {
  const { executor, built, manifests } = buildBundles({ app, outputDirectory });
  console.log(reportSizes([executor, ...built]));
  console.log(`\nbuilt ${displayPath(app)} into ${displayPath(outputDirectory)}, definition ${manifests.hash.slice(0, 12)}`);
} catch (error) {
  if (!(error instanceof BundleError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
