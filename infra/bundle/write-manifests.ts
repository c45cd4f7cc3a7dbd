import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AppDefinition } from '../../shared/index.ts';

/** The definition as the sync function reads it. `hash` is the SHA-256 of the definition without it, keys sorted. */
export type Manifests = AppDefinition & { readonly hash: string };

/**
 * Writes `manifests.json` into a bundle. Keys are sorted so that the order in which an app happens to build its objects changes neither the hash
 * nor the asset, and so does not make a deployment run sync again.
 */
export function writeManifests(definition: AppDefinition, bundleDirectory: string): Manifests {
  const hash = createHash('sha256')
    .update(JSON.stringify(sortKeys(definition)))
    .digest('hex');
  const manifests = { ...definition, hash };
  writeFileSync(join(bundleDirectory, 'manifests.json'), `${JSON.stringify(sortKeys(manifests), null, 1)}\n`);
  return manifests;
}

/**
 * Writes `deployment.json` into migrate's bundle: by whose definition a deployment begins. It changes whenever the definitions do, so every deployment that will run sync, a
 * rollback included, runs migrate before.
 */
export function writeDeployment({ name, hash }: Manifests, bundleDirectory: string): void {
  writeFileSync(join(bundleDirectory, 'deployment.json'), `${JSON.stringify({ owner: name, definitionHash: hash })}\n`);
}

function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (value === null || typeof value !== 'object') return value;
  const entries = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(entries.map(([key, item]) => [key, sortKeys(item)]));
}
