import type { ManifestView } from '../model/manifest.ts';
import type { EndedRun } from '../transitions/end-runs.ts';
import type { Decision } from './determine-jobs-to-queue.ts';

/** What one round, or all rounds of a cycle, did. */
export interface CycleCounts {
  recoveredCount: number;
  dueCount: number;
  queuedCount: number;
  skippedCount: number;
  quarantinedCount: number;
}

export interface CycleFigures extends CycleCounts {
  isLeader: boolean;
  rungCount: number;
  /** Runs that were ended because their executor was gone. */
  recovered: EndedRun[];
  /** How late each manifest was queued, by the group under which it is measured. */
  lateness: { group: string; seconds: number }[];
}

/** A round, as far as it is counted. */
export interface CountedRound {
  recovered: EndedRun[];
  manifests: ManifestView[];
  decision: Decision;
  queuedCount: number;
}

export function startFigures(): CycleFigures {
  return { ...noCounts, isLeader: false, rungCount: 0, recovered: [], lateness: [] };
}

export function addRound(figures: CycleFigures, round: CountedRound & { now: Date }): void {
  Object.assign(figures, addCounts(figures, round));
  figures.recovered.push(...round.recovered);
  figures.lateness.push(...measureLateness(round));
}

const noCounts: CycleCounts = { recoveredCount: 0, dueCount: 0, queuedCount: 0, skippedCount: 0, quarantinedCount: 0 };

/** What was done with this round included. */
export function addCounts(earlier: CycleCounts = noCounts, { recovered, manifests, decision, queuedCount }: CountedRound): CycleCounts {
  return {
    recoveredCount: earlier.recoveredCount + recovered.length,
    dueCount: earlier.dueCount + manifests.length,
    queuedCount: earlier.queuedCount + queuedCount,
    skippedCount: earlier.skippedCount + decision.skipped.length,
    quarantinedCount: earlier.quarantinedCount + decision.quarantined.length,
  };
}

function measureLateness({ manifests, decision, now }: CountedRound & { now: Date }): CycleFigures['lateness'] {
  const groups = new Map(manifests.map(({ id, metricGroup }) => [id, metricGroup]));
  return decision.queue.map(({ manifestId, seenDueAt }) => ({
    group: groups.get(manifestId) ?? 'other',
    seconds: (now.getTime() - seenDueAt.getTime()) / 1000,
  }));
}
