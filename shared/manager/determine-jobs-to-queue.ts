import { messageOf } from '../errors.ts';
import type { ManifestId } from '../model/ids.ts';
import type { ManifestView, SkipReason } from '../model/manifest.ts';
import { isExcluded } from '../time/is-excluded.ts';
import { nextOccurrence } from '../time/next-occurrence.ts';
import type { CycleContext } from './cycle.ts';

/** What becomes of a manifest's own schedule: its next occurrence, or undefined to leave the occurrence as it is. */
interface Advance {
  manifestId: ManifestId;
  seenOccurrenceAt: Date | null;
  nextOccurrenceAt: Date | null;
}

export interface Decision {
  /** Queued for the occurrence that was seen. */
  queue: Advance[];
  /** Consuming skips advance the schedule; holding ones take the manifest out of sight until the hold ends. */
  skipped: (Advance & { reason: SkipReason; isHeld: boolean })[];
  /** Looked at too early: due again at their occurrence. */
  postponed: Advance[];
  /** Not computable: out of sight until redefined. */
  quarantined: { manifestId: ManifestId; error: string }[];
}

/** The deciding step. Pure: the same views at the same instant give the same decision. */
export function determineJobsToQueue<Round extends { manifests: ManifestView[] }>(
  round: Round,
  { now }: Pick<CycleContext, 'now'>,
): Round & { decision: Decision } {
  const decision: Decision = { queue: [], skipped: [], postponed: [], quarantined: [] };
  for (const view of round.manifests) {
    try {
      decideTimed(view, now, decision);
    } catch (error) {
      decision.quarantined.push({ manifestId: view.id, error: messageOf(error) });
    }
  }
  return { ...round, decision };
}

function decideTimed(view: ManifestView, now: Date, decision: Decision): void {
  const { id: manifestId, nextOccurrenceAt: occurrenceAt } = view;
  if (!occurrenceAt) throw new Error(`a ${view.scheduleType} manifest is due without an occurrence`);
  const hold = { manifestId, seenOccurrenceAt: occurrenceAt, nextOccurrenceAt: occurrenceAt };
  if (occurrenceAt > now) decision.postponed.push(hold);
  else if (view.hasAwaitingDeadLetter) decision.skipped.push({ ...hold, reason: 'dead_letter', isHeld: true });
  else {
    const advance = { ...hold, nextOccurrenceAt: nextOccurrenceOf(view, occurrenceAt, now) };
    const reason = consumingReason(view, occurrenceAt, now);
    if (reason) decision.skipped.push({ ...advance, reason, isHeld: false });
    else decision.queue.push(advance);
  }
}

function consumingReason(view: ManifestView, occurrenceAt: Date, now: Date): SkipReason | undefined {
  if (!view.groupEnabled) return 'group_disabled';
  if (isExcluded(view.exclusions, occurrenceAt, view.timeZone ?? 'UTC')) return 'excluded';
  const lateSeconds = (now.getTime() - view.nextDueAt.getTime()) / 1000;
  if (view.misfirePolicy === 'skip' && lateSeconds > view.misfireThresholdSeconds) return 'misfire';
  if (view.hasActiveExecution || view.hasQueuedWork) return 'overlap';
  return undefined;
}

/** The first occurrence after now: what was missed in between is one run, not many. */
function nextOccurrenceOf(view: ManifestView, occurrenceAt: Date, now: Date): Date | null {
  if (view.scheduleType === 'cron') {
    return nextOccurrence({ type: 'cron', expression: view.cronExpression!, timeZone: view.timeZone! }, now) ?? null;
  }
  if (view.scheduleType === 'interval') {
    return nextOccurrence({ type: 'interval', intervalSeconds: view.intervalSeconds!, from: occurrenceAt }, now) ?? null;
  }
  throw new Error(`schedule type '${view.scheduleType}' has no occurrences to follow`);
}
