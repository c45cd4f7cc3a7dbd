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

/**
 * Judges what is surely due: the occurrence that is looked at, and those that passed longer ago than any jitter lasts. Each later one may still have to wait for its own
 * jitter, which only the database knows, so it is looked at by itself; at once, if its jitter turns out to be over.
 */
function decideRepeating(view: ManifestView, occurrenceAt: Date, stay: Advance, now: Date): ManifestDecision {
  const schedule = scheduleOf(view, occurrenceAt);
  // What is anchored at completion rests until its run ends, and counts from there.
  const isAnchoredAtCompletion = view.anchor === 'completion';
  const lastSurelyDueBy = (ms: number) => new Date(Math.max(occurrenceAt.getTime(), ms - view.jitterSeconds * 1000));
  const to = lastSurelyDueBy(now.getTime());
  const next = (after: Date) => nextOccurrence(schedule, after) ?? null;
  const advance: Advance = { ...stay, nextOccurrenceAt: isAnchoredAtCompletion ? occurrenceAt : next(to), isHeld: isAnchoredAtCompletion };
  const consume = (reason: SkipReason, until = to): ManifestDecision =>
    reason === 'overlap' ? { skip: { ...advance, reason } } : { skip: { ...stay, nextOccurrenceAt: next(until), reason } };

  if (!view.groupEnabled) return consume('group_disabled');
  const isAllowed = (at: Date) => isExcluded(view.exclusions, at, view.timeZone ?? 'UTC') === undefined;
  if (view.misfirePolicy === 'skip' && isLate(view, now)) {
    // Only what is late is gone: the next look is at the first occurrence that may not be.
    const until = lastSurelyDueBy(now.getTime() - view.misfireThresholdSeconds * 1000 - 1);
    const isMissed = firstOccurrence(schedule, { from: occurrenceAt, to: until, isAllowed }) !== undefined;
    return consume(isMissed ? 'misfire' : 'excluded', isAnchoredAtCompletion ? now : until);
  }
  if (view.misfirePolicy === 'fire_all' && !isAnchoredAtCompletion) {
    const limit = view.misfireLimit ?? 1;
    const missed = latestOccurrences(schedule, { from: occurrenceAt, to, isAllowed, most: limit + 1 });
    if (missed.length > 1) {
      return { queue: { ...advance, lane: 'series', occurrences: missed.slice(-limit), consumedCounts: {}, bringForward: null } };
    }
  }
  const due = firstOccurrence(schedule, { from: occurrenceAt, to, isAllowed });
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
