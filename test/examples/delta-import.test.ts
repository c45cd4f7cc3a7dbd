import { afterEach, beforeEach, expect, it } from 'vitest';
import { createTestKit, type TestKit } from 'waybill/testing';
import app from '../../examples/delta-import/app.ts';

let kit: TestKit;
beforeEach(async () => {
  kit = await createTestKit(app, { startAt: '2026-01-01T00:00:05Z' });
});
afterEach(() => kit.close());

const inputsOf = async (manifest: string) => (await kit.runs({ manifest })).map(({ input }) => input);

it('every table is looked at every ten seconds, and nothing else runs by itself', async () => {
  await kit.drain();
  const deltas = await kit.runs({ workflow: 'delta-import' });
  expect(deltas.map(({ manifest }) => manifest).sort()).toEqual(
    ['customers', 'order-lines', 'orders', 'prices', 'products', 'stock'].map((table) => `delta-${table}`),
  );
  const caches = await kit.runs({ workflow: 'cache-bronze' });
  expect(new Set(caches.map(({ origin }) => origin))).toEqual(new Set(['activation']));
  await kit.advanceTo('2026-01-01T00:00:35Z');
  expect(await kit.runs({ manifest: 'delta-orders', state: 'completed' })).toHaveLength(4);
});

it('the first look finds every batch, and wakes each with when it has changed', async () => {
  await kit.drain();
  expect(await kit.runs({ workflow: 'cache-bronze', state: 'completed' })).toHaveLength(18);
  expect(await inputsOf('bronze-orders-2')).toEqual([{ table: 'orders', batch: 2, changedAt: '2026-01-01T00:00:00.000Z' }]);
  const [look] = await kit.runs({ manifest: 'delta-orders' });
  expect((await kit.run(look!.id)).output).toEqual({ changedCount: 3, activatedCount: 3 });
});

it('a later look wakes only what has changed since, and that is read once', async () => {
  await kit.advanceTo('2026-01-01T00:00:35Z');
  // Of the orders, batch 1 changes every 30 seconds and the others more slowly.
  const runs = await kit.runs({ manifest: 'bronze-orders-1' });
  const outputs = await Promise.all(runs.map(async ({ id }) => (await kit.run(id)).output as { rowCount: number }));
  expect(runs.at(-1)!.input).toEqual({ table: 'orders', batch: 1, changedAt: '2026-01-01T00:00:30.000Z' });
  expect(outputs.filter(({ rowCount }) => rowCount > 0)).toHaveLength(2);
  expect(
    (await inputsOf('bronze-stock-3')).every((input) => (input as { changedAt: string }).changedAt.startsWith('2026-01-01T00:00:00')),
  ).toBe(true);
});

it('a batch that could not be woken when its change was seen is woken by the next look', async () => {
  await kit.drain();
  await kit.disable('bronze-orders-1');
  await kit.advanceTo('2026-01-01T00:00:35Z');
  expect(await kit.runs({ manifest: 'bronze-orders-1' })).toHaveLength(1);
  await kit.enable('bronze-orders-1');
  await kit.advanceTo('2026-01-01T00:00:45Z');
  expect((await inputsOf('bronze-orders-1')).at(-1)).toEqual({ table: 'orders', batch: 1, changedAt: '2026-01-01T00:00:30.000Z' });
});

it('at most four tables are looked at side by side', async () => {
  const { groups, manifests } = await app.toDefinition();
  expect(groups).toEqual([{ name: 'delta', maxActiveJobs: 4 }, { name: 'bronze' }]);
  expect(manifests).toHaveLength(6 + 18);
});
