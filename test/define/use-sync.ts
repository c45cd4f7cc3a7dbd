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

/** Every setting of a manifest that may be left out, with a value that is not its default. */
export const everySetting = {
  pool: 'heavy',
  priority: 7,
  maxAttempts: 5,
  backoff: { initialSeconds: 1, factor: 2.5, maxSeconds: 99, jitter: 0 },
  timeoutSeconds: 30,
  isEnabled: false,
  expectWithinSeconds: 3600,
  misfire: { policy: 'fire_all', limit: 4 },
  misfireThresholdSeconds: 5,
  jitterSeconds: 10,
  exclusions: [{ type: 'weekdays', weekdays: ['sunday'] }],
} satisfies Partial<ManifestDefinition>;

/** The columns of a manifest that has them all. */
export const columnsOfEverySetting = {
  pool: 'heavy',
  priority: 7,
  max_attempts: 5,
  backoff_initial_seconds: 1,
  backoff_factor: 2.5,
  backoff_max_seconds: 99,
  backoff_jitter: 0,
  timeout_seconds: 30,
  is_enabled: false,
  next_due_at: null,
  expect_within_seconds: 3600,
  misfire_policy: 'fire_all',
  misfire_limit: 4,
  misfire_threshold_seconds: 5,
  jitter_seconds: 10,
  exclusions: [{ type: 'weekdays', weekdays: ['sunday'] }],
};

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
