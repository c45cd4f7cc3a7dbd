import { existsSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { app, every, workflow } from 'waybill';
import { z } from 'zod';

const load = workflow({ name: 'load', input: z.object({ batch: z.string() }), run: (_, { batch }) => ({ loaded: batch }) });

/** Lets another function find out what there is to load, and stays until the test lets it go: what it activates must not wait for its end. */
const discover = workflow({
  name: 'discover',
  input: z.object({}),
  async run(ctx) {
    const Payload = JSON.stringify({ ...ctx.dormant.capability(), idempotencyKey: ctx.idempotencyKey });
    const answer = await new LambdaClient({}).send(new InvokeCommand({ FunctionName: process.env.SURVEYOR, Payload }));
    const surveyed = JSON.parse(answer.Payload!.transformToString());
    if (answer.FunctionError) throw new Error(`the surveyor failed: ${surveyed.errorType}: ${surveyed.errorMessage}`);
    const own = await ctx.dormant.activate('load-own', { batch: 'own' });
    while (!existsSync(process.env.RELEASE_FILE!)) await wait(50, undefined, { signal: ctx.signal });
    return { surveyed, own };
  },
});

export default app({
  name: 'activation',
  workflows: [discover, load],
  manifests(scheduler) {
    scheduler
      .schedule(discover, 'discover', {}, every.hours(1), { maxAttempts: 1 })
      .include(load, 'load-a', { batch: 'none' }, { dormant: true })
      .include(load, 'load-b', { batch: 'none' }, { dormant: true })
      .include(load, 'load-own', { batch: 'none' }, { dormant: true })
      .include(load, 'load-asleep', { batch: 'none' }, { dormant: true });
  },
});
