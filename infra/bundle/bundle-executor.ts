import { resolve } from 'node:path';
import { type Bundle, bundleFunction } from './bundle-function.ts';
import { readOwnSpecifiers } from './own-specifiers.ts';
import { ownModule } from './package-root.ts';

export interface BundleExecutor {
  /** The user's module whose default export is the app. */
  readonly app: string;
  readonly outputDirectory: string;
}

/**
 * Builds the executor together with the user's app: `index.mjs` is the handler, `app.mjs` the app alone, both over the same chunks, so that the
 * definitions read from `app.mjs` at synth belong to exactly the code that is deployed. An app imports this package by name wherever it lies;
 * the aliases make that the same modules that the handler uses. `renewal-thread.mjs` is what the handler starts as a thread to renew leases.
 */
export function bundleExecutor({ app, outputDirectory }: BundleExecutor): Bundle {
  const appEntry = resolve(app);
  return bundleFunction({
    name: 'executor',
    entry: ownModule('functions/executor/handler'),
    entries: { app: appEntry, 'renewal-thread': ownModule('shared/executor/renewal-thread') },
    alias: { 'waybill:app': appEntry, ...readOwnSpecifiers() },
    outputDirectory,
  });
}
