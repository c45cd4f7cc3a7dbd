import { join } from 'node:path';
import { App } from 'aws-cdk-lib';
import { BundleError } from './bundle/bundle-error.ts';
import { packageRoot } from './bundle/package-root.ts';
import { WaybillStack } from './waybill-stack.ts';

/*
 * `cdk deploy -c app=examples/etl/app.ts -c databaseUrlSecret=waybill/database-url`. Without the CDK's command line, `CDK_OUTDIR=… node
 * infra/app.ts` synthesizes the same, with WAYBILL_APP and WAYBILL_DATABASE_URL_SECRET in place of the context.
 */
const app = new App({
  // The command line would turn this on; the local cloud reads the names of functions from it.
  context: { 'aws:cdk:enable-path-metadata': true, '@aws-cdk/aws-iam:minimizePolicies': true },
});
const setting = (contextKey: string, variable: string): string | undefined =>
  app.node.tryGetContext(contextKey) || process.env[variable] || undefined;

try {
  new WaybillStack(app, 'Waybill', {
    description: 'Waybill: a job scheduler and dependency orchestrator',
    app: setting('app', 'WAYBILL_APP') ?? join(packageRoot, 'examples/etl/app.ts'),
    databaseUrlSecretName: setting('databaseUrlSecret', 'WAYBILL_DATABASE_URL_SECRET') ?? 'waybill/database-url',
  });
  app.synth();
} catch (error) {
  if (!(error instanceof BundleError)) throw error;
  console.error(error.message);
  // At once: going on would let the CDK write what there is of the stack when the process ends.
  process.exit(1);
}
