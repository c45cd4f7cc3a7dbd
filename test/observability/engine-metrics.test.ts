import { expect, it } from 'vitest';
import { measureCapacity, measureCycle, measureRuns } from '../../shared/observability/engine-metrics.ts';
import { createMetrics } from '../../shared/observability/metrics.ts';

function record() {
  const lines: Record<string, unknown>[] = [];
  return { lines, metrics: createMetrics((line) => lines.push(JSON.parse(line))) };
}

const cycle = {
  isLeader: true,
  dueCount: 3,
  queuedCount: 2,
  skippedCount: 1,
  recoveredCount: 0,
  quarantinedCount: 0,
  rungCount: 0,
  lateness: [],
};

it('a cycle is one line, and one more per group that was late', () => {
  const { lines, metrics } = record();
  const lateness = [
    { group: 'etl', seconds: 1 },
    { group: 'etl', seconds: 4 },
    { group: 'hr', seconds: 0 },
  ];
  measureCycle(metrics, { ...cycle, lateness }, 12);
  expect(lines).toMatchObject([
    { CycleTime: 12, Due: 3, Queued: 2, Skipped: 1 },
    { Group: 'etl', DueLateness: [1, 4] },
    { Group: 'hr', DueLateness: [0] },
  ]);
});

it('a cycle that found another in charge is a lock skip and nothing else', () => {
  const { lines, metrics } = record();
  measureCycle(metrics, { ...cycle, isLeader: false }, 1);
  expect(lines).toMatchObject([{ LockSkips: 1 }]);
  expect(lines[0]).not.toHaveProperty('CycleTime');
});

it('runs are measured per group: times, outcomes and dead letters', () => {
  const { lines, metrics } = record();
  measureRuns(metrics, [
    { metricGroup: 'etl', state: 'completed', runningMs: 10, next: null },
    { metricGroup: 'etl', state: 'failed', runningMs: 20, next: 'dead_letter' },
    { metricGroup: 'hr', state: 'cancelled', runningMs: 5, next: null },
  ]);
  expect(lines).toMatchObject([
    { Group: 'etl', RunTime: [10, 20], Completed: 1, Failed: 1, Cancelled: 0, DeadLetters: 1 },
    { Group: 'hr', RunTime: [5], Cancelled: 1 },
  ]);
});

it('capacity in use is a percentage where there is a limit', () => {
  const { lines, metrics } = record();
  measureCapacity(metrics, [
    { metricGroup: 'etl', liveCount: 3, maxActiveJobs: 4 },
    { metricGroup: 'hr', liveCount: 7, maxActiveJobs: null },
  ]);
  expect(lines).toMatchObject([
    { Group: 'etl', Live: 3, CapacityInUse: 75 },
    { Group: 'hr', Live: 7 },
  ]);
  expect(lines[1]).not.toHaveProperty('CapacityInUse');
});

it('a line has at most a hundred values of one metric and further ones the rest, of numbers that CloudWatch takes', () => {
  const { lines, metrics } = record();
  const many = Array.from({ length: 250 }, (_, index) => index);
  const value = [Number.NaN, ...many];
  metrics.emit({ dimensions: { Group: 'etl' }, metrics: { Many: { value, unit: 'None' }, Once: 250, Bad: Number.NaN } });
  expect(lines.map((line) => (line.Many as number[]).length)).toEqual([100, 100, 50]);
  expect(lines.flatMap((line) => line.Many)).toEqual(many);
  expect(lines.map((line) => [line.Group, line.Once, Object.hasOwn(line, 'Bad')])).toEqual([
    ['etl', 250, false],
    ['etl', undefined, false],
    ['etl', undefined, false],
  ]);
  expect(lines.map(namesOf)).toEqual([['Many', 'Once'], ['Many'], ['Many']]);
});

function namesOf(line: Record<string, unknown>): string[] {
  const { CloudWatchMetrics } = line._aws as { CloudWatchMetrics: { Metrics: { Name: string }[] }[] };
  return CloudWatchMetrics.flatMap(({ Metrics }) => Metrics.map(({ Name }) => Name));
}
