import { expect, it } from 'vitest';
import { z } from 'zod';
import { app, every, exclude, handle, workflow } from '../../shared/index.ts';
import { parentsOf } from './use-mistakes.ts';

const tables = ['orders', 'users'];
const jobs = tables.flatMap((table) => [1, 2].map((batch) => ({ table, batch })));

const extract = workflow({
  name: 'extract',
  input: z.object({ source: z.string() }),
  async run(_, input) {
    return { key: input.source, rows: 1 };
  },
});
const validate = workflow({ name: 'validate', input: z.object({}), run: () => null });
const load = workflow({ name: 'load', input: z.object({}), run: () => null });
const deltaImport = workflow({ name: 'delta-import', input: z.object({ table: z.string() }), run: () => null });
const cacheBronze = workflow({ name: 'cache-bronze', input: z.object({ table: z.string(), batch: z.number() }), run: () => null });

const etl = app({
  name: 'acme-etl',
  workflows: [extract, validate, load, cacheBronze, deltaImport],
  manifests(scheduler) {
    scheduler
      .schedule(extract, 'extract-data', { source: 'api' }, every.hours(1), { group: 'etl' })
      .include(validate, 'validate-data', {})
      .thenInclude(load, 'load-data', {});

    scheduler
      .scheduleMany(
        deltaImport,
        'delta',
        tables.map((t) => ({ id: t, input: { table: t } })),
        every.seconds(10),
        { group: { maxActiveJobs: 4 } },
      )
      .includeMany(
        cacheBronze,
        'bronze',
        jobs.map((j) => ({ id: `${j.table}-${j.batch}`, input: j, dependsOn: `delta-${j.table}` })),
        { dormant: true },
      );
  },
});

it('an app of chains and batches is a definition', async () => {
  const definition = await etl.toDefinition();
  expect(parentsOf(definition)).toEqual({
    'extract-data': null,
    'validate-data': ['extract-data'],
    'load-data': ['validate-data'],
    'delta-orders': null,
    'delta-users': null,
    'bronze-orders-1': ['delta-orders'],
    'bronze-orders-2': ['delta-orders'],
    'bronze-users-1': ['delta-users'],
    'bronze-users-2': ['delta-users'],
  });
  expect(definition.groups).toEqual([
    { name: 'etl' },
    { name: 'validate-data' },
    { name: 'load-data' },
    { name: 'delta', maxActiveJobs: 4 },
    { name: 'bronze' },
  ]);
  expect(definition.manifests.at(-1)).toMatchObject({
    input: { table: 'users', batch: 2 },
    schedule: { type: 'dormant_dependent', dependsOn: ['delta-users'], mode: 'all' },
  });
});

it('is the same each time it is asked', async () => {
  expect(await etl.toDefinition()).toEqual(await etl.toDefinition());
});

it('what an exclusion is made by is what is stored', () => {
  expect([
    exclude.weekdays('saturday'),
    exclude.dates('2026-12-25', '2026-12-26'),
    exclude.dateRange('2026-12-27', '2026-12-31'),
    exclude.timeWindow('22:00', '06:00'),
  ]).toEqual([
    { type: 'weekdays', weekdays: ['saturday'] },
    { type: 'dates', dates: ['2026-12-25', '2026-12-26'] },
    { type: 'date_range', from: '2026-12-27', to: '2026-12-31' },
    { type: 'time_window', from: '22:00', to: '06:00' },
  ]);
});

it('a handle names its manifest and knows its workflow', () => {
  expect(handle(cacheBronze, 'bronze-orders-1')).toEqual({ externalId: 'bronze-orders-1', workflow: cacheBronze });
});
