import { setTimeout as wait } from 'node:timers/promises';
import { app, cron, workflow } from 'waybill';
import { z } from 'zod';

interface Statement {
  key: string;
  totalCents: number;
}

/** Stands for a slow query per customer; the account of every tenth one is locked. */
async function writeStatement(customer: number, month: string, seconds: number, signal: AbortSignal): Promise<Statement> {
  await wait(seconds * 1000, undefined, { signal });
  if (customer % 10 === 0) throw new Error(`the account of customer ${customer} is locked`);
  return { key: `statements/${month}/${customer}.pdf`, totalCents: customer * 1250 };
}

/**
 * Writes a statement for every customer, one step each. A step that is done stays done: when its function's time is nearly over, the run goes on in another invocation, and after a failure in
 * another attempt, both from where it was. So it may take days in a function that may take minutes.
 */
const monthlyStatements = workflow({
  name: 'monthly-statements',
  input: z.object({ customerCount: z.number().int().positive(), secondsPerStatement: z.number().nonnegative().default(1) }),
  async run(ctx, { customerCount, secondsPerStatement }) {
    // Whatever could be another in another invocation is found out in a step.
    const month = await ctx.step('month', () => (ctx.occurrenceAt ?? new Date()).toISOString().slice(0, 7));
    let totalCents = 0;
    for (let customer = 1; customer <= customerCount; customer++) {
      const statement = await ctx.step(`customer ${customer}`, async ({ signal }) => {
        try {
          const written = await writeStatement(customer, month, secondsPerStatement, signal);
          ctx.item(`customer ${customer}`);
          return written;
        } catch (error) {
          // One customer must not keep the others from theirs; but that the run is over its time is not the customer's fault.
          signal.throwIfAborted();
          ctx.item(`customer ${customer}`, error);
          return null;
        }
      });
      totalCents += statement?.totalCents ?? 0;
      ctx.progress(customer, customerCount, 'statements');
    }

    // The archive takes new files in at its own pace; nothing runs and nothing is paid for meanwhile.
    await ctx.sleep('until they are archived', { minutes: 2 });
    return ctx.step('summary', () => ({ key: `statements/${month}/summary.pdf`, totalCents }));
  },
});

export default app({
  name: 'long-report',
  workflows: [monthlyStatements],
  manifests(scheduler) {
    scheduler.schedule(monthlyStatements, 'monthly-statements', { customerCount: 60 }, cron('0 6 1 * *', { timeZone: 'Europe/London' }), {
      maxAttempts: 5,
      expectWithinSeconds: 86_400,
    });
  },
});
