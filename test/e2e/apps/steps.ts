import { appendFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { app, every, workflow } from 'waybill';
import { z } from 'zod';

/** Forty steps of a second, each noted in a file that outlives every process. */
const long = workflow({
  name: 'long',
  input: z.object({}),
  async run(ctx) {
    const note = (effect: string, step: string) =>
      appendFileSync(process.env.LEDGER!, `${JSON.stringify({ effect, step, manifest: ctx.execution.manifest, pid: process.pid })}\n`);
    for (let number = 1; number <= 40; number++) {
      const step = `step-${number}`;
      await ctx.step(step, async () => {
        note('began', step);
        await wait(1_000);
        note('ended', step);
      });
    }
  },
});

const rest = workflow({
  name: 'rest',
  input: z.object({}),
  async run(ctx) {
    const before = await ctx.step('before', () => Date.now());
    await ctx.sleep('pause', { seconds: 4 });
    return { restedMs: (await ctx.step('after', () => Date.now())) - before };
  },
});

const tick = workflow({ name: 'tick', input: z.object({}), run: () => ({}) });

/** Nothing here begins by itself. */
export default app({
  name: 'steps',
  workflows: [long, rest, tick],
  manifests(scheduler) {
    const isEnabled = false;
    for (const id of ['undisturbed', 'killed'])
      scheduler.schedule(long, id, {}, every.hours(24), { isEnabled, maxAttempts: 20, backoff: { initialSeconds: 0, jitter: 0 } });
    scheduler.schedule(rest, 'resting', {}, every.hours(24), { isEnabled });
    scheduler.schedule(tick, 'tick', {}, every.seconds(1), { isEnabled });
  },
});
