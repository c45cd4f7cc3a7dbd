import fc from 'fast-check';
import { expect, it } from 'vitest';
import { decideTimed } from '../../shared/manager/decide-timed.ts';
import type { ManifestId, WorkQueueId } from '../../shared/model/ids.ts';
import type { ManifestView, SkipReason } from '../../shared/model/manifest.ts';
import type { Exclusion } from '../../shared/time/exclusion.ts';
import { isExcluded } from '../../shared/time/is-excluded.ts';
import { nextOccurrence, type Schedule } from '../../shared/time/next-occurrence.ts';
import { occurrencesBetween } from '../../shared/time/occurrences-between.ts';

const START = Date.UTC(2026, 2, 2);
const seconds = (at: Date) => (at.getTime() - START) / 1000;
const instant = (second: number) => new Date(START + second * 1000);

const timing = fc.oneof(
  fc
    .constantFrom(20, 60, 600, 3_600)
    .map((intervalSeconds) => ({ scheduleType: 'interval' as const, intervalSeconds, anchor: 'occurrence' as const })),
  fc
    .constantFrom('* * * * *', '*/7 * * * *', '0 * * * *', '15,20 */2 * * *')
    .map((cronExpression) => ({ scheduleType: 'cron' as const, cronExpression, timeZone: 'UTC' })),
);
const misfire = fc.oneof(
  fc.constant({ misfirePolicy: 'fire_once' as const }),
  fc.constant({ misfirePolicy: 'skip' as const }),
  fc.integer({ min: 1, max: 4 }).map((misfireLimit) => ({ misfirePolicy: 'fire_all' as const, misfireLimit })),
);
const exclusions = fc.constantFrom<Exclusion[]>(
  [],
  [{ type: 'time_window', from: '00:30', to: '01:20' }],
  [{ type: 'weekdays', weekdays: ['monday'] }],
);
const look = fc.record({
  afterSeconds: fc.oneof({ weight: 3, arbitrary: fc.integer({ min: 1, max: 90 }) }, fc.integer({ min: 1, max: 12_000 })),
  groupEnabled: fc.boolean(),
  isBusy: fc.boolean(),
});
const scene = fc.record({
  timing,
  misfire,
  exclusions,
  misfireThresholdSeconds: fc.constantFrom(0, 60, 900),
  jitterSeconds: fc.constantFrom(0, 1, 30, 120, 1_800, 7_200),
  /** Any delays will do, as long as an occurrence always has the same. */
  delays: fc.array(fc.nat(), { minLength: 1, maxLength: 7 }),
  looks: fc.array(look, { minLength: 5, maxLength: 40 }),
});

/** What one look made of the occurrences from the one that it saw to the one that it left as the next. */
interface Judgement {
  at: Date;
  all: Date[];
  queued: Date[];
  reason: SkipReason | undefined;
}

type Scene = typeof scene extends fc.Arbitrary<infer Given> ? Given : never;

const viewOf = ({ misfire, jitterSeconds, exclusions, misfireThresholdSeconds }: Scene, timing: Partial<ManifestView>): ManifestView => ({
  id: 1 as ManifestId,
  externalId: 'job',
  scheduleType: 'interval',
  cronExpression: null,
  timeZone: null,
  intervalSeconds: null,
  anchor: null,
  misfireLimit: null,
  misfireThresholdSeconds,
  exclusions,
  jitterSeconds,
  dependencyMode: null,
  parents: [],
  nextOccurrenceAt: null,
  nextDueAt: new Date(0),
  failedCount: 0,
  hasAwaitingDeadLetter: false,
  hasQueuedWork: false,
  delayedEntryId: null as WorkQueueId | null,
  hasActiveExecution: false,
  groupEnabled: true,
  metricGroup: 'other',
  ...misfire,
  ...timing,
});

const jitterOf =
  ({ delays, jitterSeconds }: Scene) =>
  (at: Date) =>
    instant(seconds(at) + (delays[Math.floor(seconds(at) / 20) % delays.length]! % (jitterSeconds + 1)));

function decide(view: ManifestView, now: Date) {
  const decided = decideTimed(view, now);
  if ('postpone' in decided) throw new Error('what is due is not postponed');
  return 'queue' in decided ? { ...decided.queue, reason: undefined } : { ...decided.skip, occurrences: [] };
}

/** Plays the part of the cycle: looks whenever something is due, and takes the decision at its word. */
function play(given: Scene) {
  const { timing, looks } = given;
  const schedule: Schedule =
    timing.scheduleType === 'cron'
      ? { type: 'cron', expression: timing.cronExpression, timeZone: timing.timeZone }
      : { type: 'interval', intervalSeconds: timing.intervalSeconds, from: instant(0) };
  const dueAt = jitterOf(given);
  const judged: Judgement[] = [];
  let now = instant(0);
  let occurrenceAt = nextOccurrence(schedule, now)!;
  for (const { afterSeconds, groupEnabled, isBusy } of looks) {
    now = instant(seconds(now) + afterSeconds);
    while (dueAt(occurrenceAt) <= now) {
      const view = viewOf(given, {
        ...timing,
        groupEnabled,
        hasActiveExecution: isBusy,
        nextOccurrenceAt: occurrenceAt,
        nextDueAt: dueAt(occurrenceAt),
      });
      const { nextOccurrenceAt, occurrences, reason } = decide(view, now);
      const all = occurrencesBetween(schedule, occurrenceAt, nextOccurrenceAt!, Number.POSITIVE_INFINITY);
      if (!all.length) throw new Error('a look judges at least what it looked at');
      judged.push({ at: now, all, queued: occurrences as Date[], reason });
      occurrenceAt = nextOccurrenceAt!;
    }
  }
  return { judged, dueAt };
}

it('every occurrence is queued, or skipped with a reason, or merged by the misfire policy, and none of this before it is due', () => {
  fc.assert(
    fc.property(scene, (given) => {
      const { misfirePolicy, misfireLimit = 1 } = { misfireLimit: undefined, ...given.misfire };
      const { judged, dueAt } = play(given);
      const isAllowed = (at: Date) => isExcluded(given.exclusions, at, 'UTC') === undefined;
      for (const { at, all, queued, reason } of judged) {
        for (const one of all) expect(seconds(dueAt(one)), 'nothing is judged before its jitter is over').toBeLessThanOrEqual(seconds(at));
        const allowed = all.filter(isAllowed);
        if (reason === 'misfire') {
          expect(misfirePolicy).toBe('skip');
          expect(allowed.length, 'a misfire misses something').toBeGreaterThan(0);
        }
        if (reason === 'misfire' || (reason === 'excluded' && misfirePolicy === 'skip'))
          for (const one of allowed)
            expect(seconds(at) - seconds(dueAt(one)), 'only what is late is gone').toBeGreaterThan(given.misfireThresholdSeconds);
        if (reason === 'excluded') expect(allowed, 'only what is excluded is gone as excluded').toEqual([]);
        if (reason) continue;
        expect(queued, 'one run for all, or the latest of all').toEqual(
          misfirePolicy === 'fire_all' ? allowed.slice(-misfireLimit) : allowed.slice(0, 1),
        );
        expect(queued.length, 'what is queued is there').toBeGreaterThan(0);
      }
    }),
    { numRuns: 300 },
  );
});

it('what is anchored at completion is queued for what is due and rests, or is skipped with a reason and goes on', () => {
  fc.assert(
    fc.property(scene, fc.constantFrom(20, 600, 3_600), (given, intervalSeconds) => {
      const dueAt = jitterOf(given);
      const occurrenceAt = instant(3_600);
      for (const { afterSeconds, groupEnabled, isBusy } of given.looks) {
        const now = instant(seconds(dueAt(occurrenceAt)) + afterSeconds);
        const timing = { intervalSeconds, anchor: 'completion' as const, groupEnabled, hasActiveExecution: isBusy };
        const decided = decide(viewOf(given, { ...timing, nextOccurrenceAt: occurrenceAt, nextDueAt: dueAt(occurrenceAt) }), now);
        const isResting = decided.reason === undefined || decided.reason === 'overlap';
        expect(decided.isHeld).toBe(isResting);
        expect(seconds(decided.nextOccurrenceAt!)).toBeGreaterThanOrEqual(isResting ? 3_600 : 3_601);
        expect(decided.occurrences).toHaveLength(decided.reason ? 0 : 1);
        for (const one of decided.occurrences)
          expect(seconds(dueAt(one!)), 'nothing runs before its jitter is over').toBeLessThanOrEqual(seconds(now));
      }
    }),
  );
});
