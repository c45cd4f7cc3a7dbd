import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Stack, Stage } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { buildBundles, type FunctionName, functionNames } from '../bundle/build-bundles.ts';
import { listInputs } from '../bundle/list-inputs.ts';
import { checkPools } from './check-pools.ts';

export interface ProvideBundles {
  readonly app: string;
  readonly poolNames: readonly string[];
}

/**
 * The directory of each function's bundle, built while the construct is created, inside the cloud assembly so that nothing is left in a
 * temporary directory. Commands that only need names (`cdk list`, `cdk destroy`) ask for no bundles; they get empty ones, and so work on an app
 * that does not compile.
 */
export function provideBundles(scope: Construct, { app, poolNames }: ProvideBundles): Record<FunctionName, string> {
  const outputDirectory = join(Stage.of(scope)?.assetOutdir ?? 'cdk.out', 'bundles', scope.node.addr);
  if (Stack.of(scope).bundlingRequired) {
    const { executor, manifests } = buildBundles({ app, outputDirectory });
    checkPools(manifests, poolNames);
    writeFileSync(join(outputDirectory, 'inputs.json'), JSON.stringify(listInputs(executor)));
  } else for (const name of functionNames) writePlaceholder(join(outputDirectory, name));
  return Object.fromEntries(functionNames.map((name) => [name, join(outputDirectory, name)])) as Record<FunctionName, string>;
}

function writePlaceholder(directory: string): void {
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, 'index.mjs'), `throw new Error('this bundle was not built: deploy the stack with bundling on');\n`);
}
