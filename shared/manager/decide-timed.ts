import type { ManifestView, SkipReason } from '../model/manifest.ts';
import { isExcluded } from '../time/is-excluded.ts';
import { nextOccurrence, type Schedule } from '../time/next-occurrence.ts';
import { occurrencesBetween } from '../time/occurrences-between.ts';
import type { Advance, ManifestDecision } from './determine-jobs-to-queue.ts';

/** Missed occurrences are looked at up to here; more of them than this are not caught up by any limit. */
const MOST_MISSED = 10_000;

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
  const nextOccurrenceAt = isAnchoredAtCompletion ? occurrenceAt : (nextOccurrence(schedule, now) ?? null);
  const advance: Advance = { ...stay, nextOccurrenceAt, isHeld: isAnchoredAtCompletion };
  const consume = (reason: SkipReason): ManifestDecision =>
    isAnchoredAtCompletion && reason !== 'overlap'
      ? { skip: { ...stay, nextOccurrenceAt: nextOccurrence(schedule, now) ?? null, reason } }
      : { skip: { ...advance, reason } };

  if (!view.groupEnabled) return consume('group_disabled');
  const isAllowed = (at: Date) => isExcluded(view.exclusions, at, view.timeZone ?? 'UTC') === undefined;
  const missed =
    view.misfirePolicy === 'fire_all' && !isAnchoredAtCompletion ? missedOccurrences(schedule, occurrenceAt, now).filter(isAllowed) : [];
  if (missed.length > 1) {
    const occurrences = missed.slice(-(view.misfireLimit ?? 1));
    return { queue: { ...advance, lane: 'series', occurrences, consumedCounts: {}, bringForward: null } };
  }
  const due = missed[0] ?? occurrenceAt;
  if (!isAllowed(due)) return consume('excluded');
  const lateSeconds = (now.getTime() - view.nextDueAt.getTime()) / 1000;
  if (view.misfirePolicy === 'skip' && lateSeconds > view.misfireThresholdSeconds) return consume('misfire');
  if (view.hasActiveExecution || view.hasQueuedWork) return consume('overlap');
  return { queue: { ...advance, lane: 'fresh', occurrences: [due], consumedCounts: {}, bringForward: view.delayedEntryId } };
}

function missedOccurrences(schedule: Schedule, occurrenceAt: Date, now: Date): Date[] {
  return occurrencesBetween(schedule, occurrenceAt, new Date(now.getTime() + 1), MOST_MISSED);
}

function scheduleOf(view: ManifestView, occurrenceAt: Date): Schedule {
  if (view.scheduleType === 'cron') return { type: 'cron', expression: view.cronExpression!, timeZone: view.timeZone! };
  if (view.scheduleType === 'interval') return { type: 'interval', intervalSeconds: view.intervalSeconds!, from: occurrenceAt };
  throw new Error(`schedule type '${view.scheduleType}' has no occurrences to follow`);
}
