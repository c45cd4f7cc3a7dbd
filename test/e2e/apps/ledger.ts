import { appendFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { app, every, workflow } from 'waybill';
import { z } from 'zod';

/** Writes each effect into a file that outlives every process, one whole line at a time. */
const work = workflow({
  name: 'work',
  input: z.object({ ledger: z.string(), seconds: z.number() }),
  async run({ execution, attempt, signal }, { ledger, seconds }) {
    const note = (effect: 'began' | 'ended') => appendFileSync(ledger, `${JSON.stringify({ effect, ...execution, attempt })}\n`);
    note('began');
    await wait(seconds * 1000, undefined, { signal });
    note('ended');
  },
});

/** Six runs that take long enough to be killed in, beside one that keeps coming. The ledger's path is what synth finds in its environment. */
export default app({
  name: 'ledger',
  workflows: [work],
  manifests(scheduler) {
    const ledger = process.env.LEDGER ?? 'ledger';
    for (let number = 1; number <= 6; number++) {
      scheduler.schedule(work, `slow-${number}`, { ledger, seconds: 8 }, every.hours(1), { backoff: { initialSeconds: 1 } });
    }
    scheduler.schedule(work, 'steady', { ledger, seconds: 0 }, every.seconds(2), { backoff: { initialSeconds: 1 } });
  },
});
