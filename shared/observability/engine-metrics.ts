import type { Measurement, Metrics } from './metrics.ts';

/** What every process tells of a run that reached an outcome. */
export interface MeasuredRun {
  metricGroup: string;
  state: 'completed' | 'completed_with_warnings' | 'failed' | 'cancelled';
  runningMs: number;
  next: 'retry' | 'dead_letter' | null;
}

export interface MeasuredCycle {
  isLeader: boolean;
  dueCount: number;
  queuedCount: number;
  skippedCount: number;
  recoveredCount: number;
  quarantinedCount: number;
  rungCount: number;
  lateness: { group: string; seconds: number }[];
}

/** One line per cycle and one per group in it: cost follows what happened, never what is registered. */
export function measureCycle(metrics: Metrics, cycle: MeasuredCycle, durationMs: number): void {
  if (!cycle.isLeader) {
    metrics.emit({ metrics: { LockSkips: 1 } });
    return;
  }
  metrics.emit({
    metrics: {
      CycleTime: { value: durationMs, unit: 'Milliseconds' },
      Due: cycle.dueCount,
      Queued: cycle.queuedCount,
      Skipped: cycle.skippedCount,
      Recovered: cycle.recoveredCount,
      Quarantined: cycle.quarantinedCount,
      BellsRungAgain: cycle.rungCount,
    },
  });
  perGroup(
    cycle.lateness,
    ({ group }) => group,
    metrics,
    (late) => ({
      DueLateness: { value: late.map(({ seconds }) => seconds), unit: 'Seconds' },
    }),
  );
}

export function measureRuns(metrics: Metrics, runs: MeasuredRun[]): void {
  perGroup(
    runs,
    ({ metricGroup }) => metricGroup,
    metrics,
    (ended) => ({
      RunTime: { value: ended.map(({ runningMs }) => runningMs), unit: 'Milliseconds' },
      Completed: ended.filter(({ state }) => state === 'completed' || state === 'completed_with_warnings').length,
      Failed: ended.filter(({ state }) => state === 'failed').length,
      Cancelled: ended.filter(({ state }) => state === 'cancelled').length,
      DeadLetters: ended.filter(({ next }) => next === 'dead_letter').length,
    }),
  );
}

export function measureAdmissions(metrics: Metrics, admitted: { metricGroup: string; waitedSeconds: number }[]): void {
  perGroup(
    admitted,
    ({ metricGroup }) => metricGroup,
    metrics,
    (entries) => ({
      QueueWait: { value: entries.map(({ waitedSeconds }) => waitedSeconds), unit: 'Seconds' },
      Admitted: entries.length,
    }),
  );
}

/** How much of a group's capacity is taken; a group without a limit is measured too, and has no percentage. */
export function measureCapacity(
  metrics: Metrics,
  groups: { metricGroup: string; liveCount: number; maxActiveJobs: number | null }[],
): void {
  for (const { metricGroup, liveCount, maxActiveJobs } of groups) {
    metrics.emit({
      dimensions: { Group: metricGroup },
      metrics: {
        Live: liveCount,
        ...(maxActiveJobs && { CapacityInUse: { value: (100 * liveCount) / maxActiveJobs, unit: 'Percent' as const } }),
      },
    });
  }
}

function perGroup<Item>(
  items: Item[],
  groupOf: (item: Item) => string,
  metrics: Metrics,
  measure: (items: Item[]) => Measurement['metrics'],
): void {
  for (const [group, members] of Map.groupBy(items, groupOf)) metrics.emit({ dimensions: { Group: group }, metrics: measure(members) });
}
