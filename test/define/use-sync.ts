import { randomUUID } from 'node:crypto';
import type { GroupDefinition, ManifestDefinition } from '../../shared/define/definition.ts';
import { type SyncReport, syncApp } from '../../shared/define/sync.ts';
import type { Engine } from '../support/engine.ts';

export type Declared = Partial<ManifestDefinition> & { externalId: string };

export interface Deployment {
  owner?: string;
  groups?: GroupDefinition[];
  workflows?: string[];
}

/** Deploys an app that declares these manifests; a test states only what matters to it. Its groups are those that the manifests name. */
export function deploy(engine: Pick<Engine, 'database'>, manifests: Declared[], deployment: Deployment = {}): Promise<SyncReport> {
  const { owner = 'test', groups = [], workflows = ['work'] } = deployment;
  const stated = new Set(groups.map(({ name }) => name));
  const named = new Set(manifests.map(({ group, externalId }) => group ?? externalId));
  return syncApp(
    engine.database,
    {
      name: owner,
      workflows: workflows.map((name) => ({ name, pool: 'default' })),
      groups: [...groups, ...[...named].filter((name) => !stated.has(name)).map((name) => ({ name }))],
      manifests: manifests.map((manifest) => ({
        workflow: 'work',
        input: {},
        group: manifest.externalId,
        schedule: { type: 'interval', intervalSeconds: 60, anchor: 'occurrence' },
        ...manifest,
      })),
    },
    randomUUID(),
  );
}
