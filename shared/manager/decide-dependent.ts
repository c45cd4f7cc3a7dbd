import type { ManifestView, SkipReason } from '../model/manifest.ts';
import type { Advance, ManifestDecision } from './determine-jobs-to-queue.ts';

/**
 * Decides about a manifest that runs after its parents succeed. Counters, not clocks: it is due when, for all (or any) of its edges, the parent has succeeded more
 * often than the dependent has consumed. Every skip holds: whatever ends it marks the dependent due again.
 */
export function decideDependent(view: ManifestView, _now: Date): ManifestDecision {
  const held: Advance = {
    manifestId: view.id,
    seenOccurrenceAt: view.nextOccurrenceAt,
    seenDueAt: view.nextDueAt,
    nextOccurrenceAt: null,
    isHeld: true,
  };
  const reason = holdingReason(view);
  if (reason) return { skip: { ...held, reason } };
  const consumedCounts = Object.fromEntries(view.parents.map(({ id, successCount }) => [String(id), successCount]));
  return { queue: { ...held, lane: 'fresh', occurrences: [null], consumedCounts, bringForward: view.delayedEntryId } };
}

function holdingReason({ parents, dependencyMode, ...view }: ManifestView): SkipReason | undefined {
  if (!parents.length) return 'orphaned';
  if (view.hasAwaitingDeadLetter) return 'dead_letter';
  if (view.hasActiveExecution) return 'running';
  if (view.hasQueuedWork) return 'already_queued';
  if (!view.groupEnabled) return 'group_disabled';
  const met = parents.filter(({ isEnabled, successCount, consumedCount }) => isEnabled && successCount > consumedCount);
  if (dependencyMode === 'any' ? met.length > 0 : met.length === parents.length) return undefined;
  return parents.some(({ isEnabled }) => !isEnabled) ? 'parent_disabled' : 'not_ready';
}
