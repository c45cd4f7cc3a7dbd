import type { AuditEvent } from '../transitions/record-audits.ts';
import type { AppliedDefinitions } from './apply-definitions.ts';
import type { ManifestDefinition } from './definition.ts';
import type { EdgePlan } from './sync-edges.ts';
import type { WorkflowPlan } from './sync-workflows.ts';

/** What becomes of a manifest's parents, by the child's external id. */
export function changedParents({ appeared, gone }: EdgePlan, manifests: ManifestDefinition[]) {
  const added = Map.groupBy(appeared, ({ child }) => child);
  const dropped = Map.groupBy(gone, ({ child }) => child);
  return new Map(
    manifests
      .filter(({ externalId }) => added.has(externalId) || dropped.has(externalId))
      .map(({ externalId, schedule }) => {
        const after = 'dependsOn' in schedule ? schedule.dependsOn : [];
        const isNew = new Set(added.get(externalId)?.map(({ parent }) => parent));
        const before = [...after.filter((parent) => !isNew.has(parent)), ...(dropped.get(externalId) ?? []).map(({ parent }) => parent)];
        return [externalId, { before, after }];
      }),
  );
}

/** The audit trail of applied definitions, one event per thing that changed. */
export function auditDefinitions(
  { groups, created, changed, edges, removed }: AppliedDefinitions,
  manifests: ManifestDefinition[],
): AuditEvent[] {
  const definitions = new Map(manifests.map((manifest) => [manifest.externalId, manifest]));
  const isCreated = new Set(created.map(({ externalId }) => externalId));
  const parents = changedParents(edges, manifests);
  const settings = new Map(changed.map((manifest) => [manifest.externalId, manifest]));
  const touched = [...new Set([...settings.keys(), ...parents.keys()])].filter((externalId) => !isCreated.has(externalId)).sort();
  const ofManifest = (action: string, target: string, event: Pick<AuditEvent, 'before' | 'after'> = {}): AuditEvent => ({
    action,
    targetType: 'manifest',
    target,
    ...event,
  });
  return [
    ...groups.created.map(({ name, after }): AuditEvent => ({ action: 'group.create', targetType: 'group', target: name, after })),
    ...groups.changed.map(
      ({ name, before, after }): AuditEvent => ({ action: 'group.change', targetType: 'group', target: name, before, after }),
    ),
    ...created.map(({ externalId }) => {
      const { workflow, steps, group, schedule } = definitions.get(externalId)!;
      const named = steps?.map((parallel) => parallel.map(({ name }) => name));
      return ofManifest('manifest.create', externalId, { after: { workflow, ...(named && { steps: named }), group, schedule } });
    }),
    ...touched.map((externalId) => {
      const [of, dependsOn] = [settings.get(externalId), parents.get(externalId)];
      return ofManifest('manifest.change', externalId, {
        before: { ...of?.before, ...(dependsOn && { dependsOn: dependsOn.before }) },
        after: { ...of?.after, ...(dependsOn && { dependsOn: dependsOn.after }) },
      });
    }),
    ...removed.map(({ externalId, isRetiring }) => ofManifest('manifest.remove', externalId, { after: { isRetiring } })),
  ];
}

export function auditWorkflows({ created, changed, removed }: WorkflowPlan): AuditEvent[] {
  const ofWorkflow =
    (action: string) =>
    (target: string): AuditEvent => ({ action, targetType: 'workflow', target });
  return [
    ...created.map(ofWorkflow('workflow.create')),
    ...changed.map(ofWorkflow('workflow.change')),
    ...removed.map(ofWorkflow('workflow.remove')),
  ];
}
