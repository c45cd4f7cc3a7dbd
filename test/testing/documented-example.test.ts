import { expect, it } from 'vitest';
import { app, every, workflow } from 'waybill';
import { createTestKit } from 'waybill/testing';
import { z } from 'zod';

const told: string[] = [];
const extract = workflow({ name: 'extract', input: z.object({ source: z.string() }), run: (_, { source }) => ({ key: `${source}.csv` }) });
const tell = workflow({ name: 'tell', input: z.object({ whom: z.string() }), run: (_, { whom }) => void told.push(whom) });
const etl = app({
  name: 'etl',
  workflows: [extract, tell],
  manifests(scheduler) {
    scheduler.schedule(extract, 'extract-orders', { source: 'orders' }, every.hours(1)).include(tell, 'tell-ada', { whom: 'Ada' });
  },
});

it('tells Ada after every extraction', async () => {
  await using kit = await createTestKit(etl, { startAt: '2026-03-01T08:00:00Z' });
  await kit.advanceTo('2026-03-01T10:00:00Z');
  const runs = await kit.runs({ manifest: 'extract-orders' });
  expect(runs.map(({ startedAt }) => startedAt?.slice(11, 16))).toEqual(['08:00', '09:00', '10:00']);
  expect(runs.at(-1)?.output).toEqual({ key: 'orders.csv' });
  expect(told).toEqual(['Ada', 'Ada', 'Ada']);
});
