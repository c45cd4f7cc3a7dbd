import { messageOf } from '../errors.ts';
import type { ManifestId, WorkQueueId } from '../model/ids.ts';
import type { ManifestView, SkipReason } from '../model/manifest.ts';
import type { CycleContext } from './cycle.ts';
import { decideDependent } from './decide-dependent.ts';
import { decideTimed } from './decide-timed.ts';

/** What becomes of a manifest's schedule, on condition that it still is where the decision saw it. */
export interface Advance {
  manifestId: ManifestId;
  seenOccurrenceAt: Date | null;
  seenDueAt: Date;
  nextOccurrenceAt: Date | null;
  /** Out of sight until something calls markDue: dependents, a once that was queued, every hold. */
  isHeld: boolean;
}

export interface QueueDecision extends Advance {
  /** One fresh entry; or the missed occurrences as a series. */
  lane: 'fresh' | 'series';
  /** Dependents run for successes, not for instants: theirs is null. */
  occurrences: (Date | null)[];
  consumedCounts: Record<string, number>;
  /** The delayed trigger that takes this occurrence instead of a new entry. */
  bringForward: WorkQueueId | null;
}

export interface SkipDecision extends Advance {
  reason: SkipReason;
}

/** A hold like any other: the occurrence that could not be queued is still to come. */
export interface Quarantine {
  manifestId: ManifestId;
  seenOccurrenceAt: Date | null;
  error: string;
}

export interface Decision {
  queue: QueueDecision[];
  skipped: SkipDecision[];
  /** Looked at too early: due again at their occurrence. */
  postponed: Advance[];
  /** Not computable: out of sight until redefined. */
  quarantined: Quarantine[];
}

export type ManifestDecision = { queue: QueueDecision } | { skip: SkipDecision } | { postpone: Advance };

/** The deciding step. Pure: the same views at the same instant give the same decision. Dormant manifests are never due, so they are in neither pass. */
export function determineJobsToQueue<Round extends { manifests: ManifestView[] }>(
  round: Round,
  { now }: Pick<CycleContext, 'now'>,
): Round & { decision: Decision } {
  const decision: Decision = { queue: [], skipped: [], postponed: [], quarantined: [] };
  const isDependent = ({ scheduleType }: ManifestView) => scheduleType === 'dependent';
  const timed = round.manifests.filter((view) => !isDependent(view)).map((view) => ({ view, decide: decideTimed }));
  const dependents = round.manifests.filter(isDependent).map((view) => ({ view, decide: decideDependent }));
  for (const { view, decide } of [...timed, ...dependents]) {
    try {
      const decided = decide(view, now);
      if ('queue' in decided) decision.queue.push(decided.queue);
      else if ('skip' in decided) decision.skipped.push(decided.skip);
      else decision.postponed.push(decided.postpone);
    } catch (error) {
      decision.quarantined.push({ manifestId: view.id, seenOccurrenceAt: view.nextOccurrenceAt, error: messageOf(error) });
    }
  }
  return { ...round, decision };
}
