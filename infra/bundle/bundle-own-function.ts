import { join } from 'node:path';
import { type Bundle, bundleFunction } from './bundle-function.ts';
import { packageRoot } from './package-root.ts';

/** The functions that hold nothing of the user's: the same in every deployment of one version of this package. */
export const ownFunctionNames = ['manager', 'dispatcher', 'activator', 'api', 'housekeeping', 'migrate', 'sync'] as const;
export type OwnFunctionName = (typeof ownFunctionNames)[number];

/** What lies beside the code of a function that reads files. */
const directories: Partial<Record<OwnFunctionName, Record<string, string>>> = {
  api: { page: join(packageRoot, 'functions/api/page') },
  migrate: { migrations: join(packageRoot, 'shared/db/migrations') },
};

/** Builds one of our own functions from its sources, which only the clone has. */
export function bundleOwnFunction(name: OwnFunctionName, outputDirectory: string): Bundle {
  const entry = join(packageRoot, 'functions', name, 'handler.ts');
  return bundleFunction({ name, entry, outputDirectory, directories: directories[name] ?? {} });
}
