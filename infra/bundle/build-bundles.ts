import { join } from 'node:path';
import { bundleExecutor } from './bundle-executor.ts';
import { type Bundle, bundleFunction } from './bundle-function.ts';
import { evaluateApp } from './evaluate-app.ts';
import { packageRoot } from './package-root.ts';
import { type Manifests, writeManifests } from './write-manifests.ts';

export interface BuildBundles {
  /** The user's module whose default export is the app. */
  readonly app: string;
  /** Receives one directory per function. */
  readonly outputDirectory: string;
}

export const functionNames = ['executor', 'manager', 'dispatcher', 'api', 'housekeeping', 'migrate', 'sync'] as const;
export type FunctionName = (typeof functionNames)[number];

export interface Bundles {
  readonly functions: Readonly<Record<FunctionName, Bundle>>;
  readonly manifests: Manifests;
}

/**
 * Builds everything a deployment runs. The app is bundled and evaluated first: its mistakes are the likely ones, and its definitions become part
 * of sync's bundle, so that a changed definition is a changed asset and sync runs again.
 */
export function buildBundles({ app, outputDirectory }: BuildBundles): Bundles {
  const executor = bundleExecutor({ app, outputDirectory: join(outputDirectory, 'executor') });
  const definition = evaluateApp({ bundleDirectory: executor.directory, entry: app });
  const bundle = (name: FunctionName, directories: Record<string, string> = {}) =>
    bundleFunction({
      name,
      entry: join(packageRoot, 'functions', name, 'handler.ts'),
      outputDirectory: join(outputDirectory, name),
      directories,
    });

  const functions = {
    executor,
    manager: bundle('manager'),
    dispatcher: bundle('dispatcher'),
    api: bundle('api', { page: join(packageRoot, 'functions/api/page') }),
    housekeeping: bundle('housekeeping'),
    migrate: bundle('migrate', { migrations: join(packageRoot, 'shared/db/migrations') }),
    sync: bundle('sync'),
  };
  return { functions, manifests: writeManifests(definition, functions.sync.directory) };
}
