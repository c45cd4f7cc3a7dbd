import type { ClaimFigures } from './claim.ts';
import type { BurstFigures } from './measure-burst.ts';
import type { CycleTimes } from './measure-cycles.ts';
import type { HopFigures } from './measure-hops.ts';
import type { RunFigures } from './measure-runs.ts';
import { formatNumber as format, type ReportRow } from './print-report.ts';

export interface Figures {
  cycles: CycleTimes[];
  burst: BurstFigures;
  claims: ClaimFigures[];
  runs: { runs: RunFigures[]; commitMicroseconds: number | undefined };
  hops: HopFigures;
}

const UNKNOWN = 'not known without /proc';

/** Ratios first: they hold on other machines, where milliseconds do not. */
export function describeRatios({ cycles, runs: { runs, commitMicroseconds } }: Figures): ReportRow[] {
  const few = cycles[0]!;
  const many = cycles.at(-1)!;
  const growth = many.someDue.elapsedMs / few.someDue.elapsedMs;
  const [single, batched] = runs;
  const between = `${format(many.registeredCount)} registered against ${format(few.registeredCount)}`;
  return [
    { what: `a cycle with 100 due, ${between}`, measured: `${growth.toFixed(2)} ×`, aim: { text: '≤ 1.5 ×', isMet: growth <= 1.5 } },
    { what: '… by the time in the database', measured: `${(many.someDue.databaseMs / few.someDue.databaseMs).toFixed(2)} ×` },
    { what: `a cycle with none due, ${between}`, measured: `${(many.noneDue.elapsedMs / few.noneDue.elapsedMs).toFixed(2)} ×` },
    ...cycles.flatMap(({ registeredCount, someDue, standIn }) =>
      standIn
        ? [
            {
              what: `loading everything against a cycle, ${format(registeredCount)} registered`,
              measured: `${format(standIn.elapsedMs / someDue.elapsedMs)} ×`,
            },
          ]
        : [],
    ),
    ...runs.flatMap(({ batchSize, processorMicroseconds }) =>
      processorMicroseconds === undefined || !commitMicroseconds
        ? []
        : [
            {
              what: `processor time of a run in a batch of ${batchSize} against a commit of one row`,
              measured: `${format(processorMicroseconds / commitMicroseconds)} ×`,
            },
          ],
    ),
    {
      what: 'a run in a batch of 1 against one in a batch of 10',
      measured: `${(batched!.runsPerSecond / single!.runsPerSecond).toFixed(1)} × the time`,
    },
  ];
}

export function describeCycles({ cycles, burst }: Figures): ReportRow[] {
  const { dueCount, queuedCount, seconds, databaseSeconds, processorSeconds, rowsPerSecond } = burst;
  // Meant for 100,000; fewer must not take longer in proportion.
  const mostSeconds = (5 * dueCount) / 100_000;
  return [
    ...cycles.flatMap(({ registeredCount, someDue, noneDue, standIn }) => [
      {
        what: `${format(registeredCount)} registered, 100 due`,
        measured: `${format(someDue.elapsedMs)} ms (${format(someDue.databaseMs)} in the database)`,
      },
      {
        what: `${format(registeredCount)} registered, none due`,
        measured: `${format(noneDue.elapsedMs)} ms (${format(noneDue.databaseMs)} in the database)`,
      },
      ...(standIn
        ? [
            {
              what: `${format(registeredCount)} registered, loading everything`,
              measured: `${format(standIn.elapsedMs)} ms (${format(standIn.databaseMs)} in the database)`,
            },
          ]
        : []),
    ]),
    {
      what: `${format(dueCount)} due at once${queuedCount < dueCount ? `, of which only ${format(queuedCount)}` : ''} are queued`,
      measured: `${seconds.toFixed(1)} s (${databaseSeconds.toFixed(1)} in the database)`,
      aim: { text: `< ${format(mostSeconds)} s`, isMet: queuedCount === dueCount && seconds < mostSeconds },
    },
    { what: '… rows per second', measured: format(rowsPerSecond) },
    { what: '… processor time of Postgres', measured: processorSeconds === undefined ? UNKNOWN : `${processorSeconds.toFixed(1)} s` },
  ];
}

export function describeClaims({ claims }: Figures): ReportRow[] {
  return claims.map(({ scene, perClaim, medianMs, claimsPerSecond, entriesPerSecond }) => ({
    what: `${scene}, ${perClaim} per claim`,
    measured: `${format(medianMs)} ms, ${format(claimsPerSecond)} claims/s, ${format(entriesPerSecond)} entries/s`,
  }));
}

export function describeRuns({ runs: { runs, commitMicroseconds }, hops }: Figures): ReportRow[] {
  return [
    ...runs.flatMap(({ batchSize, runsPerSecond, processorMicroseconds, statementMicroseconds }): ReportRow[] => [
      { what: `batches of ${batchSize}`, measured: `${format(runsPerSecond)} runs/s` },
      {
        what: '… processor time of Postgres per run',
        measured: processorMicroseconds === undefined ? UNKNOWN : `${format(processorMicroseconds)} µs`,
        aim:
          batchSize === 10 && processorMicroseconds !== undefined ? { text: '≤ 130 µs', isMet: processorMicroseconds <= 130 } : undefined,
      },
      { what: '… time in statements per run, waits included', measured: `${format(statementMicroseconds)} µs` },
    ]),
    {
      what: 'for comparison, processor time of a commit of one row',
      measured: commitMicroseconds === undefined ? UNKNOWN : `${format(commitMicroseconds)} µs`,
    },
    {
      what: 'one hop of a chain A → B → C, without queues',
      measured: `${format(hops.chainMs)} ms`,
      aim: { text: '< 1 s', isMet: hops.chainMs < 1000 },
    },
    {
      what: 'one hop of a plan, from group to group',
      measured: `${format(hops.planMs)} ms`,
      aim: { text: '< 1 s', isMet: hops.planMs < 1000 },
    },
  ];
}
