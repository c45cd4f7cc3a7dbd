import type { ManifestView, SkipReason } from '../model/manifest.ts';
import { isExcluded } from '../time/is-excluded.ts';
import { nextOccurrence, type Schedule } from '../time/next-occurrence.ts';
import type { Advance, ManifestDecision } from './determine-jobs-to-queue.ts';
import { firstOccurrence, latestOccurrences } from './missed-occurrences.ts';

/** Decides about a manifest that runs for instants: cron, interval or once. */
export function decideTimed(view: ManifestView, now: Date): ManifestDecision {
  const { id: manifestId, nextOccurrenceAt: occurrenceAt, nextDueAt } = view;
  if (!occurrenceAt) throw new Error(`a ${view.scheduleType} manifest is due without an occurrence`);
  const stay: Advance = { manifestId, seenOccurrenceAt: occurrenceAt, seenDueAt: nextDueAt, nextOccurrenceAt: occurrenceAt, isHeld: false };
  if (occurrenceAt > now) return { postpone: stay };
  if (view.hasAwaitingDeadLetter) return { skip: { ...stay, isHeld: true, reason: 'dead_letter' } };
  return view.scheduleType === 'once' ? decideOnce(view, occurrenceAt, stay) : decideRepeating(view, occurrenceAt, stay, now);
}

/** A once keeps its instant through every hold, and is over as soon as it has been queued for it. */
function decideOnce(view: ManifestView, occurrenceAt: Date, stay: Advance): ManifestDecision {
  const reason: SkipReason | undefined = !view.groupEnabled
    ? 'group_disabled'
    : view.hasActiveExecution
      ? 'running'
      : view.hasQueuedWork
        ? 'already_queued'
        : undefined;
  if (reason) return { skip: { ...stay, isHeld: true, reason } };
  return {
    queue: {
      ...stay,
      nextOccurrenceAt: null,
      isHeld: true,
      lane: 'fresh',
      occurrences: [occurrenceAt],
      consumedCounts: {},
      bringForward: view.delayedEntryId,
    },
  };
}

function decideRepeating(view: ManifestView, occurrenceAt: Date, stay: Advance, now: Date): ManifestDecision {
  const schedule = scheduleOf(view, occurrenceAt);
  // What is anchored at completion rests until its run ends, and counts from there.
  const isAnchoredAtCompletion = view.anchor === 'completion';
  const next = (after: Date) => nextOccurrence(schedule, after) ?? null;
  const advance: Advance = { ...stay, nextOccurrenceAt: isAnchoredAtCompletion ? occurrenceAt : next(now), isHeld: isAnchoredAtCompletion };
  const consume = (reason: SkipReason, until = now): ManifestDecision =>
    reason === 'overlap' ? { skip: { ...advance, reason } } : { skip: { ...stay, nextOccurrenceAt: next(until), reason } };

  if (!view.groupEnabled) return consume('group_disabled');
  const isAllowed = (at: Date) => isExcluded(view.exclusions, at, view.timeZone ?? 'UTC') === undefined;
  if (view.misfirePolicy === 'skip' && isLate(view, now)) {
    // Only what is late is gone: the next look is at the first occurrence that is not.
    const until = new Date(now.getTime() - view.misfireThresholdSeconds * 1000 - 1);
    return consume(isAllowed(occurrenceAt) ? 'misfire' : 'excluded', isAnchoredAtCompletion ? now : until);
  }
  if (view.misfirePolicy === 'fire_all' && !isAnchoredAtCompletion) {
    const limit = view.misfireLimit ?? 1;
    const missed = latestOccurrences(schedule, { from: occurrenceAt, to: now, isAllowed, most: limit + 1 });
    if (missed.length > 1) {
      return { queue: { ...advance, lane: 'series', occurrences: missed.slice(-limit), consumedCounts: {}, bringForward: null } };
    }
  }
  const due = firstOccurrence(schedule, { from: occurrenceAt, to: now, isAllowed });
  if (!due) return consume('excluded');
  if (view.hasActiveExecution || view.hasQueuedWork) return consume('overlap');
  return { queue: { ...advance, lane: 'fresh', occurrences: [due], consumedCounts: {}, bringForward: view.delayedEntryId } };
}

function isLate({ nextDueAt, misfireThresholdSeconds }: ManifestView, now: Date): boolean {
  return now.getTime() - nextDueAt.getTime() > misfireThresholdSeconds * 1000;
}

function scheduleOf(view: ManifestView, occurrenceAt: Date): Schedule {
  if (view.scheduleType === 'cron') return { type: 'cron', expression: view.cronExpression!, timeZone: view.timeZone! };
  if (view.scheduleType === 'interval') return { type: 'interval', intervalSeconds: view.intervalSeconds!, from: occurrenceAt };
  throw new Error(`schedule type '${view.scheduleType}' has no occurrences to follow`);
}
