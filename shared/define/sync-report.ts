import type { AppliedDefinitions } from './apply-definitions.ts';
import type { AppDefinition } from './definition.ts';
import type { ManifestPlan } from './plan-definitions.ts';
import { changedParents } from './sync-audit.ts';
import type { GroupPlan } from './sync-groups.ts';
import type { WorkflowPlan } from './sync-workflows.ts';

/** What a sync did, or would do. Manifests are named by external id. */
export interface SyncReport {
  /** `superseded`: a deployment that began later has been applied, so this one left everything as it is. `planned`: nothing was written, nor meant to be. */
  outcome: 'applied' | 'superseded' | 'planned';
  /** Null for a plan, which is no deployment. */
  deploymentVersion: number | null;
  created: string[];
  changed: string[];
  /** Which settings of a changed manifest differ. `stated` alone: the values are the same, and from now on they are the code's. */
  changedFields: Record<string, string[]>;
  unchangedCount: number;
  pruned: string[];
  groups: { created: string[]; changed: string[] };
  workflows: WorkflowPlan;
}

export function reportApplied(
  deploymentVersion: number,
  definition: AppDefinition,
  workflows: WorkflowPlan,
  { groups, created, removed, changed, edges }: AppliedDefinitions,
): SyncReport {
  const createdIds = created.map(({ externalId }) => externalId);
  const prunedIds = removed.map(({ externalId }) => externalId);
  return { outcome: 'applied', deploymentVersion, ...summarize(definition, workflows, { groups, createdIds, prunedIds, changed, edges }) };
}

export function reportPlanned(
  definition: AppDefinition,
  workflows: WorkflowPlan,
  { groups, manifests: { created, undeclared, changed, edges } }: { groups: GroupPlan; manifests: ManifestPlan },
): SyncReport {
  const prunedIds = undeclared.map(({ externalId }) => externalId);
  return {
    outcome: 'planned',
    deploymentVersion: null,
    ...summarize(definition, workflows, { groups, createdIds: created, prunedIds, changed, edges }),
  };
}

export function reportSuperseded(deploymentVersion: number): SyncReport {
  return {
    outcome: 'superseded',
    deploymentVersion,
    created: [],
    changed: [],
    changedFields: {},
    unchangedCount: 0,
    pruned: [],
    groups: { created: [], changed: [] },
    workflows: { created: [], changed: [], removed: [] },
  };
}

interface Differences extends Pick<ManifestPlan, 'changed' | 'edges'> {
  groups: GroupPlan;
  createdIds: string[];
  prunedIds: string[];
}

function summarize(
  { manifests }: AppDefinition,
  workflows: WorkflowPlan,
  { groups, createdIds, prunedIds, changed, edges }: Differences,
): Omit<SyncReport, 'outcome' | 'deploymentVersion'> {
  const isCreated = new Set(createdIds);
  const fields = new Map(changed.map((manifest) => [manifest.externalId, manifest.fields]));
  for (const externalId of changedParents(edges, manifests).keys()) {
    if (!isCreated.has(externalId)) fields.set(externalId, [...(fields.get(externalId) ?? []), 'dependsOn']);
  }
  const changedIds = [...fields.keys()].sort();
  const names = (list: { name: string }[]) => list.map(({ name }) => name);
  return {
    created: createdIds.toSorted(),
    changed: changedIds,
    changedFields: Object.fromEntries(changedIds.map((externalId) => [externalId, fields.get(externalId)!.toSorted()])),
    unchangedCount: manifests.length - createdIds.length - changedIds.length,
    pruned: prunedIds.toSorted(),
    groups: { created: names(groups.created), changed: names(groups.changed) },
    workflows,
  };
}
