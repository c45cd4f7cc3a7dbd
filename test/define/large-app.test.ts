import { expect, it } from 'vitest';
import { cron, every, type Scheduler } from '../../shared/index.ts';
import { copy, define, mistakesOf } from './use-mistakes.ts';

const count = 20_000;
const items = Array.from({ length: count }, (_, index) => ({ id: `table-${index}`, input: { table: `t${index}` } }));
const dependents = items.map(({ id, input }) => ({ id, input, dependsOn: `delta-${id}` }));
const strangers = items.map(({ id, input }) => ({ id, input, dependsOn: `other-app-${id}` }));
const nightly = cron('0 2 * * *', { timeZone: 'Europe/London' });

// Anything that compared each manifest with each other would take minutes: the limits leave room for a busy machine, not for that.
const limitMs = 10_000;

it.each<[string, number, (scheduler: Scheduler) => void]>([
  ['one batch in a zone', count, (scheduler) => scheduler.scheduleMany(copy, 'delta', items, nightly)],
  [
    'a batch and its dormant dependents',
    2 * count,
    (scheduler) =>
      scheduler.scheduleMany(copy, 'delta', items, every.seconds(10)).includeMany(copy, 'bronze', dependents, { dormant: true }),
  ],
  [
    'dependents of as many manifests of another app',
    2 * count,
    (scheduler) => scheduler.scheduleMany(copy, 'delta', items, every.seconds(10)).includeMany(copy, 'bronze', strangers),
  ],
  [
    'single manifests, each in a group of its own',
    count,
    (scheduler) => {
      for (const { id, input } of items) scheduler.schedule(copy, id, input, nightly);
    },
  ],
])('20,000 items are judged in seconds: %s', { timeout: limitMs }, async (_, manifestCount, manifests) => {
  const { manifests: defined } = await define(manifests);
  expect(defined).toHaveLength(manifestCount);
});

it('20,000 mistakes are told in seconds, and those of a whole batch in one line', { timeout: limitMs }, async () => {
  const mistakes = await mistakesOf(
    define((scheduler) =>
      scheduler.scheduleMany(copy, 'delta', items, every.seconds(0)).includeMany(
        copy,
        'bronze',
        items.map(({ id, input }) => ({ id, input, dependsOn: `delta-x${id}` })),
      ),
    ),
  );
  expect(mistakes).toHaveLength(count + 1);
  expect(mistakes[0]).toMatch(/^manifest 'delta-table-0' and 19999 others of batch 'delta': interval is invalid/);
});
