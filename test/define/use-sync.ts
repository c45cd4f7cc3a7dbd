import { randomUUID } from 'node:crypto';
import type { AppDefinition, GroupDefinition, ManifestDefinition } from '../../shared/define/definition.ts';
import { type SyncReport, syncApp } from '../../shared/define/sync.ts';
import type { Engine } from '../support/engine.ts';

export type Declared = Partial<ManifestDefinition> & { externalId: string };

export interface Deployment {
  owner?: string;
  groups?: GroupDefinition[];
  workflows?: string[];
  /** The version that was handed out when it began; without one it begins with the call. */
  version?: number;
}

/** The definition of an app that declares these manifests; a test states only what matters to it. Its groups are those that the manifests name. */
export function define(manifests: Declared[], { owner = 'test', groups = [], workflows }: Deployment = {}): AppDefinition {
  const stated = new Set(groups.map(({ name }) => name));
  const named = new Set(manifests.map(({ group, externalId }) => group ?? externalId));
  return {
    name: owner,
    // Two apps cannot have a workflow of one name.
    workflows: (workflows ?? (owner === 'test' ? ['work'] : [])).map((name) => ({ name, pool: 'default' })),
    groups: [...groups, ...[...named].filter((name) => !stated.has(name)).map((name) => ({ name }))],
    manifests: manifests.map((manifest) => ({
      workflow: 'work',
      input: {},
      group: manifest.externalId,
      schedule: { type: 'interval', intervalSeconds: 60, anchor: 'occurrence' },
      ...manifest,
    })),
  };
}

/** Deploys an app that declares these manifests. */
export function deploy({ database }: Pick<Engine, 'database'>, manifests: Declared[], deployment: Deployment = {}): Promise<SyncReport> {
  return syncApp(database, define(manifests, deployment), randomUUID(), { deploymentVersion: deployment.version });
}
