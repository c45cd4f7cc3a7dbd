import { setTimeout as wait } from 'node:timers/promises';
import { app, cron, every, workflow } from 'waybill';
import { z } from 'zod';

/** Pretends to download a source: takes a moment, and stops waiting when the run is cancelled or times out. */
const extract = workflow({
  name: 'extract',
  input: z.object({ source: z.string() }),
  async run(ctx, { source }) {
    await wait(400, undefined, { signal: ctx.signal });
    const rowCount = 100 + Math.floor(Math.random() * 900);
    ctx.log.info('extracted', { source, rowCount });
    return { source, rowCount };
  },
});

/** Talks to a system that is down now and then: a failed run is tried again, with the same idempotency key. */
const load = workflow({
  name: 'load',
  input: z.object({ table: z.string(), failureRate: z.number().min(0).max(1).default(0) }),
  async run(ctx, { table, failureRate }) {
    await wait(200, undefined, { signal: ctx.signal });
    if (Math.random() < failureRate) throw new Error(`the warehouse refused the connection for table '${table}'`);
    return { table, key: ctx.idempotencyKey, attempt: ctx.attempt };
  },
});

const report = workflow({
  name: 'report',
  input: z.object({ title: z.string() }),
  run(ctx, { title }) {
    return { title, for: ctx.occurrenceAt?.toISOString(), previous: ctx.previousSuccess?.startedAt.toISOString() };
  },
});

export default app({
  name: 'etl',
  workflows: [extract, load, report],
  manifests(scheduler) {
    scheduler
      .schedule(extract, 'extract-orders', { source: 'orders' }, every.seconds(10), { group: { name: 'etl', maxActiveJobs: 3 } })
      .include(load, 'load-orders', { table: 'orders', failureRate: 0.2 }, { group: 'etl', maxAttempts: 5, backoff: { initialSeconds: 2 } })
      .thenInclude(report, 'report-orders', { title: 'Orders' }, { group: 'etl' });

    scheduler
      .schedule(extract, 'extract-customers', { source: 'customers' }, every.seconds(15), { group: 'etl' })
      .include(load, 'load-customers', { table: 'customers' }, { group: 'etl' });

    scheduler.schedule(report, 'nightly-report', { title: 'Yesterday' }, cron('0 2 * * *', { timeZone: 'Europe/London' }));
  },
});
