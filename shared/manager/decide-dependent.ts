import type { ManifestView, ParentView, SkipReason } from '../model/manifest.ts';
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
  if (parents.every(({ isDeleted }) => isDeleted)) return 'orphaned';
  if (view.hasAwaitingDeadLetter) return 'dead_letter';
  if (view.hasActiveExecution) return 'running';
  if (view.hasQueuedWork) return 'already_queued';
  if (!view.groupEnabled) return 'group_disabled';
  if (dependencyMode === 'any' ? parents.some(isMet) : parents.every(isMet)) return undefined;
  if (dependencyMode !== 'any' && parents.some(({ isDeleted }) => isDeleted)) return 'parent_deleted';
  return parents.some(({ isEnabled, isDeleted }) => !isEnabled && !isDeleted) ? 'parent_disabled' : 'not_ready';
}

function isMet({ isEnabled, isDeleted, successCount, consumedCount }: ParentView): boolean {
  return isEnabled && !isDeleted && successCount > consumedCount;
}
