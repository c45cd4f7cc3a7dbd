import { expect, it } from 'vitest';
import { app, every, type Scheduler, workflow } from '../../shared/index.ts';
import { anyInput } from '../support/engine.ts';

const work = workflow({ name: 'work', input: anyInput, run: () => ({}) });

async function define(manifests: (scheduler: Scheduler) => void) {
  return (await app({ name: 'test', workflows: [work], manifests }).toDefinition()).manifests;
}

const parents = (manifests: Awaited<ReturnType<typeof define>>) =>
  Object.fromEntries(manifests.map(({ externalId, schedule }) => [externalId, 'dependsOn' in schedule ? schedule.dependsOn : null]));

it('include hangs below the root, thenInclude below the cursor, and both move the cursor', async () => {
  const manifests = await define((scheduler) => {
    scheduler
      .schedule(work, 'root', {}, every.hours(1))
      .include(work, 'first', {})
      .thenInclude(work, 'below-first', {})
      .include(work, 'second', {})
      .thenInclude(work, 'below-second', {});
    scheduler.schedule(work, 'other', {}, every.hours(1)).thenInclude(work, 'below-other', {});
  });
  expect(parents(manifests)).toEqual({
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
  const manifests = await define((scheduler) => {
    scheduler
      .schedule(work, 'a', {}, every.hours(1))
      .schedule(work, 'b', {}, every.hours(1))
      .include(work, 'c', {}, { dependsOn: ['a', 'b', 'a'], mode: 'any' });
  });
  expect(manifests[2]!.schedule).toEqual({ type: 'dependent', dependsOn: ['a', 'b'], mode: 'any' });
});

it.each<[string, (scheduler: Scheduler) => void, RegExp]>([
  [
    'a dependent before any schedule',
    (scheduler) => scheduler.include(work, 'lost', {}),
    /manifest 'lost': it depends on nothing.*begin its chain with 'schedule'/,
  ],
  [
    'a circle of manifests',
    (scheduler) => scheduler.include(work, 'a', {}, { dependsOn: 'b', group: 'g' }).include(work, 'b', {}, { dependsOn: 'a', group: 'g' }),
    /circular dependency detected among manifests: b → a → b/,
  ],
  [
    'a circle of groups',
    (scheduler) =>
      scheduler
        .schedule(work, 'a1', {}, every.hours(1), { group: 'a' })
        .thenInclude(work, 'b1', {}, { group: 'b' })
        .thenInclude(work, 'a2', {}, { group: 'a' }),
    /Circular dependency detected among manifest groups: \[a, b\]/,
  ],
  [
    'a date that does not exist',
    (scheduler) => scheduler.scheduleOnce(work, 'once', {}, '2026-02-30T10:00:00Z'),
    /instant '2026-02-30T10:00:00Z' is invalid/,
  ],
  [
    'an invalid date object',
    (scheduler) => scheduler.scheduleOnce(work, 'once', {}, new Date('nonsense')),
    /instant 'Invalid Date' is invalid/,
  ],
  ['the year 9999', (scheduler) => scheduler.scheduleOnce(work, 'once', {}, '9999-01-01T00:00:00Z'), /before the year 9999/],
  [
    'a catch-up of nothing',
    (scheduler) => scheduler.schedule(work, 'x', {}, every.hours(1), { misfire: { fireAll: 0 } }),
    /misfire.fireAll must be a whole number from 1 to 10000, got 0/,
  ],
])('refuses %s', async (_, manifests, message) => {
  await expect(define(manifests)).rejects.toThrow(message);
});
