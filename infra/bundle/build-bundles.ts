import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { bundleExecutor } from './bundle-executor.ts';
import type { Bundle } from './bundle-function.ts';
import { bundleOwnFunction, type OwnFunctionName, ownFunctionNames } from './bundle-own-function.ts';
import { evaluateApp } from './evaluate-app.ts';
import { isClone, packageRoot } from './package-root.ts';
import { type Manifests, writeDeployment, writeManifests } from './write-manifests.ts';

export interface BuildBundles {
  /** The user's module whose default export is the app. */
  readonly app: string;
  /** Receives one directory per function. */
  readonly outputDirectory: string;
}

export const functionNames = ['executor', ...ownFunctionNames] as const;
export type FunctionName = (typeof functionNames)[number];

export interface Bundles {
  readonly executor: Bundle;
  /** Our own functions, as far as they were built here: an installed package brings them built. */
  readonly built: readonly Bundle[];
  readonly manifests: Manifests;
}

/**
 * Provides everything a deployment runs. The app is bundled and evaluated first: its mistakes are the likely ones, and its definitions become part
 * of sync's bundle, so that a changed definition is a changed asset and sync runs again.
 */
export function buildBundles({ app, outputDirectory }: BuildBundles): Bundles {
  const executor = bundleExecutor({ app, outputDirectory: join(outputDirectory, 'executor') });
  const definition = evaluateApp({ bundleDirectory: executor.directory, entry: app });
  const built = ownFunctionNames.flatMap((name) => provideOwnFunction(name, join(outputDirectory, name)));
  const manifests = writeManifests(definition, join(outputDirectory, 'sync'));
  writeDeployment(manifests, join(outputDirectory, 'migrate'));
  return { executor, built, manifests };
}

/** Always a copy, also of what is only copied: two of the functions get files of this app beside their code. */
function provideOwnFunction(name: OwnFunctionName, outputDirectory: string): Bundle[] {
  if (isClone) return [bundleOwnFunction(name, outputDirectory)];
  rmSync(outputDirectory, { recursive: true, force: true });
  cpSync(join(packageRoot, 'bundles', name), outputDirectory, { recursive: true });
  return [];
}
