import { expect, it } from 'vitest';
import { cron, every, handle, type Scheduler } from '../../shared/index.ts';
import { define, mistakesOf, parentsOf, plain } from './use-mistakes.ts';

it('include hangs below the root, thenInclude below the cursor, and both move the cursor', async () => {
  const definition = await define((scheduler) => {
    scheduler
      .schedule(plain, 'root', {}, every.hours(1))
      .include(plain, 'first', {})
      .thenInclude(plain, 'below-first', {})
      .include(plain, 'second', {})
      .thenInclude(plain, 'below-second', {});
    scheduler.schedule(plain, 'other', {}, every.hours(1)).thenInclude(plain, 'below-other', {});
  });
  expect(parentsOf(definition)).toEqual({
    root: null,
    first: ['root'],
    'below-first': ['first'],
    second: ['root'],
    'below-second': ['second'],
    other: null,
    'below-other': ['other'],
  });
});

it('dependsOn names several parents, with a mode', async () => {
  const definition = await define((scheduler) => {
    scheduler
      .schedule(plain, 'a', {}, every.hours(1))
      .schedule(plain, 'b', {}, every.hours(1))
      .include(plain, 'c', {}, { dependsOn: ['a', 'b', 'a'], mode: 'any' });
  });
  expect(definition.manifests[2]!.schedule).toEqual({ type: 'dependent', dependsOn: ['a', 'b'], mode: 'any' });
});

it('a dormant dependent has parents like any other, and waits to be activated', async () => {
  const { manifests } = await define((scheduler) =>
    scheduler
      .schedule(plain, 'root', {}, every.hours(1))
      .include(plain, 'dormant', {}, { dormant: true })
      .thenInclude(plain, 'after', {}, { dormant: false }),
  );
  expect(manifests.slice(1).map(({ schedule }) => schedule)).toEqual([
    { type: 'dormant_dependent', dependsOn: ['root'], mode: 'all' },
    { type: 'dependent', dependsOn: ['dormant'], mode: 'all' },
  ]);
});

it('a handle stands for the id of its manifest', async () => {
  const root = handle(plain, 'root');
  const definition = await define((scheduler) =>
    scheduler
      .schedule(plain, root.externalId, {}, every.hours(1))
      .schedule(plain, 'other', {}, every.hours(1))
      .include(plain, 'one', {}, { dependsOn: root })
      .include(plain, 'both', {}, { dependsOn: [root, 'other', { externalId: 'other' }] }),
  );
  expect(parentsOf(definition)).toMatchObject({ one: ['root'], both: ['root', 'other'] });
});

it.each<[string, (scheduler: Scheduler) => void, string]>([
  [
    'include before any schedule',
    (scheduler) => scheduler.include(plain, 'x', {}),
    "it depends on nothing, so it would never run; begin its chain with 'schedule', or name its parents in 'dependsOn'",
  ],
  [
    'an empty list of parents',
    (scheduler) => scheduler.schedule(plain, 'root', {}, every.hours(1)).include(plain, 'x', {}, { dependsOn: [] }),
    "it depends on nothing, so it would never run; begin its chain with 'schedule', or name its parents in 'dependsOn'",
  ],
  [
    'include after scheduleMany',
    (scheduler) => scheduler.scheduleMany(plain, 'many', [{ id: 'a', input: {} }], every.hours(1)).include(plain, 'x', {}),
    "it follows the batch 'many', which is many manifests: name its parents in 'dependsOn', for example 'many-<id>'",
  ],
  [
    'thenInclude after includeMany',
    (scheduler) =>
      scheduler
        .schedule(plain, 'root', {}, every.hours(1))
        .includeMany(plain, 'many', [{ id: 'a', input: {} }])
        .thenInclude(plain, 'x', {}),
    "it follows the batch 'many', which is many manifests: name its parents in 'dependsOn', for example 'many-<id>'",
  ],
  [
    'a mode on a dormant dependent',
    (scheduler) => scheduler.schedule(plain, 'root', {}, every.hours(1)).include(plain, 'x', {}, { dormant: true, mode: 'any' } as never),
    "mode is not for a dormant dependent: any of its parents may activate it; leave out 'mode' or 'dormant'",
  ],
  [
    'a mode that does not exist',
    (scheduler) => scheduler.schedule(plain, 'root', {}, every.hours(1)).include(plain, 'x', {}, { mode: 'some' as never }),
    "mode must be 'all' or 'any', got 'some'",
  ],
  [
    'a parent that is no reference',
    (scheduler) => scheduler.include(plain, 'x', {}, { dependsOn: [7 as never] }),
    'dependsOn must be an id, a handle or a list of them, got 7',
  ],
  [
    'lateness of a dependent',
    (scheduler) => scheduler.schedule(plain, 'root', {}, every.hours(1)).include(plain, 'x', {}, { misfire: 'skip' } as never),
    "option 'misfire' is not for a dependent; allowed are group, priority, maxAttempts, backoff, timeoutSeconds, isEnabled, pool, expectWithinSeconds, dependsOn, mode, dormant",
  ],
  [
    'jitter of a one-time run',
    (scheduler) => scheduler.scheduleOnce(plain, 'x', {}, '2026-01-01T00:00:00Z', { jitterSeconds: 5 } as never),
    "option 'jitterSeconds' is not for a one-time run; allowed are group, priority, maxAttempts, backoff, timeoutSeconds, isEnabled, pool, expectWithinSeconds",
  ],
  [
    'a schedule that was not made by every or cron',
    (scheduler) => scheduler.schedule(plain, 'x', {}, '0 2 * * *' as never, { misfire: 'skip' }),
    "its schedule must be made by 'every' or 'cron', got '0 2 * * *'",
  ],
  [
    'an anchor that does not exist',
    (scheduler) => scheduler.schedule(plain, 'x', {}, every.hours(1, { anchor: 'start' as never })),
    "the interval's anchor must be 'occurrence' or 'completion', got 'start'",
  ],
  [
    'a cron expression that is no text',
    (scheduler) => scheduler.schedule(plain, 'x', {}, cron(undefined as never)),
    'cron expression must be a text, got undefined',
  ],
])('refuses %s, and says what to do', async (_, manifests, mistake) => {
  expect(await mistakesOf(define(manifests))).toEqual([`manifest 'x': ${mistake}`]);
});

it.each<[string, (scheduler: Scheduler) => void, RegExp]>([
  [
    'a circle of manifests',
    (scheduler) =>
      scheduler.include(plain, 'a', {}, { dependsOn: 'b', group: 'g' }).include(plain, 'b', {}, { dependsOn: 'a', group: 'g' }),
    /circular dependency detected among manifests: b → a → b/,
  ],
  [
    'a circle of groups',
    (scheduler) =>
      scheduler
        .schedule(plain, 'a1', {}, every.hours(1), { group: 'a' })
        .thenInclude(plain, 'b1', {}, { group: 'b' })
        .thenInclude(plain, 'a2', {}, { group: 'a' }),
    /Circular dependency detected among manifest groups: \[a, b\]/,
  ],
  [
    'a date that does not exist',
    (scheduler) => scheduler.scheduleOnce(plain, 'once', {}, '2026-02-30T10:00:00Z'),
    /instant '2026-02-30T10:00:00Z' is invalid/,
  ],
  [
    'an invalid date object',
    (scheduler) => scheduler.scheduleOnce(plain, 'once', {}, new Date('nonsense')),
    /instant 'Invalid Date' is invalid/,
  ],
  ['the year 9999', (scheduler) => scheduler.scheduleOnce(plain, 'once', {}, '9999-01-01T00:00:00Z'), /before the year 9999/],
  [
    'a catch-up of nothing',
    (scheduler) => scheduler.schedule(plain, 'x', {}, every.hours(1), { misfire: { fireAll: 0 } }),
    /misfire.fireAll must be a whole number from 1 to 10000, got 0/,
  ],
])('refuses %s', async (_, manifests, message) => {
  await expect(define(manifests)).rejects.toThrow(message);
});
