import { expect, it } from 'vitest';
import { z } from 'zod';
import { createTestKit } from '../../local/testing/index.ts';
import { app, cron, every, exclude, handle, workflow } from '../../shared/index.ts';
import { parentsOf } from './use-mistakes.ts';

const tables = ['orders', 'users'];
const jobs = tables.flatMap((table) => [1, 2].map((batch) => ({ table, batch })));

const download = async (source: string, signal: AbortSignal) => {
  signal.throwIfAborted();
  return { key: `${source}.csv`, rowCount: 3 };
};

const extract = workflow({
  name: 'extract',
  input: z.object({ source: z.string() }),
  async run(ctx, input) {
    const file = await ctx.step('download', () => download(input.source, ctx.signal));
    return { key: file.key, rows: file.rowCount };
  },
});
const transform = workflow({ name: 'transform', input: z.object({}), run: () => null });
const hrImport = workflow({ name: 'hr-import', input: z.object({ mode: z.enum(['full', 'delta']) }), run: () => null });
const hrSync = workflow({ name: 'hr-sync', input: z.object({}), run: () => null });
const adExport = workflow({
  name: 'ad-export',
  input: z.object({}),
  run() {
    throw new Error('the directory is away');
  },
});
const ldapExport = workflow({ name: 'ldap-export', input: z.object({}), run: () => null });
const validate = workflow({ name: 'validate', input: z.object({}), run: () => null });
const load = workflow({ name: 'load', input: z.object({}), run: () => null });
const deltaImport = workflow({ name: 'delta-import', input: z.object({ table: z.string() }), run: () => null });
const cacheBronze = workflow({ name: 'cache-bronze', input: z.object({ table: z.string(), batch: z.number() }), run: () => null });

const etl = app({
  name: 'acme-etl',
  workflows: [extract, transform, validate, load, cacheBronze, deltaImport, hrImport, hrSync, adExport, ldapExport],
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

    scheduler
      .plan('nightly-hr-sync', cron('0 2 * * *', { timeZone: 'Europe/London' }))
      .step('HR full import', hrImport, { mode: 'full' })
      .step('HR full sync', hrSync, {})
      .parallel((group) => group.step('AD export', adExport, {}, { continueOnFailure: true }).step('LDAP export', ldapExport, {}));
  },
});

it('an app of chains, batches and a plan is a definition', async () => {
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
    'nightly-hr-sync': null,
  });
  expect(definition.groups).toEqual([
    { name: 'etl' },
    { name: 'validate-data' },
    { name: 'load-data' },
    { name: 'delta', maxActiveJobs: 4 },
    { name: 'bronze' },
    { name: 'nightly-hr-sync' },
  ]);
  expect(definition.manifests.at(-2)).toMatchObject({
    input: { table: 'users', batch: 2 },
    schedule: { type: 'dormant_dependent', dependsOn: ['delta-users'], mode: 'all' },
  });
});

it('runs: the chain to its end, the batch side by side, the plan at two o’clock, with a failure that it tolerates', async () => {
  await using kit = await createTestKit(etl, { startAt: '2026-01-01T01:59:40Z' });
  await kit.advanceTo('2026-01-01T02:00:00Z');
  const states = async (manifest: string) => (await kit.runs({ manifest })).map(({ state }) => state);
  for (const manifest of ['extract-data', 'validate-data', 'load-data']) expect(await states(manifest)).toEqual(['completed']);
  for (const table of tables) expect(await states(`delta-${table}`)).toEqual(['completed', 'completed', 'completed']);
  expect(await states('bronze-orders-1')).toEqual([]);
  expect(await states('nightly-hr-sync')).toEqual(['completed_with_warnings']);
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
