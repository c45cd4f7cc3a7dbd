import type { SyncReport } from './sync-report.ts';

/** How many of each kind are listed by name. */
const MOST_LISTED = 20;

/** A report as lines for people: the counts, then what differs by name. Long lists are cut short and say how much they leave out. */
export function describeSync(report: SyncReport): string[] {
  if (report.outcome === 'superseded')
    return [`deployment ${report.deploymentVersion} was superseded: one that began later has been applied, nothing was changed`];
  const { created, changed, changedFields, unchangedCount, pruned, groups, workflows } = report;
  const counts = `${created.length} created, ${changed.length} changed, ${unchangedCount} unchanged, ${pruned.length} pruned`;
  return [
    `manifests  ${created.length + changed.length + unchangedCount} (${counts})`,
    ...listed('+', 'created', created),
    ...listed('~', 'changed', changed, (id) => `${id} (${(changedFields[id] ?? []).join(', ')})`),
    ...listed('-', 'pruned', pruned),
    ...listedKind('groups', { created: groups.created, changed: groups.changed, removed: [] }),
    ...listedKind('workflows', workflows),
  ];
}

/** Groups and workflows are mentioned only when something becomes of them. */
function listedKind(kind: string, { created, changed, removed }: SyncReport['workflows']): string[] {
  if (!created.length && !changed.length && !removed.length) return [];
  return [
    `${kind.padEnd(10)} ${created.length} created, ${changed.length} changed${removed.length ? `, ${removed.length} removed` : ''}`,
    ...listed('+', 'created', created),
    ...listed('~', 'changed', changed),
    ...listed('-', 'removed', removed),
  ];
}

function listed(sign: string, what: string, names: string[], describe = (name: string) => name): string[] {
  const shown = names.slice(0, MOST_LISTED).map((name) => `  ${sign} ${describe(name)}`);
  const hidden = names.length - shown.length;
  return hidden > 0 ? [...shown, `  ${sign} … and ${hidden} more ${what}`] : shown;
}
