import { setTimeout as wait } from 'node:timers/promises';
import { app, every, workflow } from 'waybill';
import { z } from 'zod';

/** What is imported: tables of a shop, each in batches that change on their own. */
const tables = ['orders', 'order-lines', 'customers', 'products', 'prices', 'stock'];
const batches = [1, 2, 3];

const CACHE_TIMEOUT_SECONDS = 20;
const LOOK_BACK_MS = 30_000;

/** Stands for a query such as `select batch, max(changed_at) from orders group by batch`: every batch changes now and then, each at its own pace. */
function findChanges(table: string, since: Date, until: Date): { batch: number; changedAt: string }[] {
  return batches.flatMap((batch) => {
    const paceMs = (tables.indexOf(table) + 2) * batch * 15_000;
    const changedAt = new Date(Math.floor(until.getTime() / paceMs) * paceMs);
    return changedAt > since ? [{ batch, changedAt: changedAt.toISOString() }] : [];
  });
}

/**
 * Looks for what has changed since its last success and wakes only the batches concerned, each with an input that is known only now. It looks back further than a batch may take: one that was
 * still running when its change was seen, and so was not woken, is found again at the next look.
 */
const deltaImport = workflow({
  name: 'delta-import',
  input: z.object({ table: z.string() }),
  async run(ctx, { table }) {
    const until = ctx.occurrenceAt ?? new Date();
    const since = ctx.previousSuccess ? new Date(ctx.previousSuccess.startedAt.getTime() - LOOK_BACK_MS) : new Date(0);
    const changes = findChanges(table, since, until);
    const results = await ctx.dormant.activateMany(
      changes.map(({ batch, changedAt }) => ({ externalId: `bronze-${table}-${batch}`, input: { table, batch, changedAt } })),
    );
    return { changedCount: changes.length, activatedCount: results.filter(({ outcome }) => outcome === 'activated').length };
  },
});

/** Copies one batch; what an earlier run has read already is not read again. */
const cacheBronze = workflow({
  name: 'cache-bronze',
  input: z.object({ table: z.string(), batch: z.number().int(), changedAt: z.iso.datetime().optional() }),
  async run(ctx, { table, batch, changedAt }) {
    const readAt = ctx.previousSuccess?.startedAt;
    if (changedAt && readAt && readAt >= new Date(changedAt)) return { table, batch, rowCount: 0 };
    await wait(20, undefined, { signal: ctx.signal });
    return { table, batch, since: readAt?.toISOString(), rowCount: 100 * batch };
  },
});

export default app({
  name: 'delta-import',
  workflows: [deltaImport, cacheBronze],
  manifests(scheduler) {
    scheduler
      .scheduleMany(
        deltaImport,
        'delta',
        tables.map((table) => ({ id: table, input: { table } })),
        every.seconds(10),
        { group: { maxActiveJobs: 4 } },
      )
      .includeMany(
        cacheBronze,
        'bronze',
        tables.flatMap((table) =>
          batches.map((batch) => ({ id: `${table}-${batch}`, input: { table, batch }, dependsOn: `delta-${table}` })),
        ),
        { dormant: true, timeoutSeconds: CACHE_TIMEOUT_SECONDS },
      );
  },
});
