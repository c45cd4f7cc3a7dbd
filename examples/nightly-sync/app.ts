import { setTimeout as wait } from 'node:timers/promises';
import { app, cron, workflow } from 'waybill';
import { z } from 'zod';

/** Stands for a connector to a system with accounts in it. It takes a second; one that is named in UNREACHABLE does not answer. */
async function connect(system: string, signal: AbortSignal): Promise<{ accountCount: number }> {
  await wait(Number(process.env.CONNECTOR_MS ?? 1_000), undefined, { signal });
  if (process.env.UNREACHABLE?.split(',').includes(system)) throw new Error(`${system} does not answer`);
  return { accountCount: 1_250 };
}

const system = z.enum(['hr', 'ad', 'ldap']);

/** Reads everybody from a system. The one that confirms reads back what an export has written, so that the next night begins from what is really there. */
const importAccounts = workflow({
  name: 'import-accounts',
  input: z.object({ system, mode: z.enum(['full', 'confirming']) }),
  async run(ctx, { system, mode }) {
    const { accountCount } = await connect(system, ctx.signal);
    return { system, mode, accountCount };
  },
});

/** Decides who should have which account, from what was imported. */
const syncPeople = workflow({
  name: 'sync-people',
  input: z.object({ mode: z.enum(['full', 'delta']) }),
  async run(ctx, { mode }) {
    await connect('hr', ctx.signal);
    return { mode, since: ctx.previousSuccess?.startedAt.toISOString(), changedCount: 12 };
  },
});

/** Writes what was decided to a system. The key is the same for every attempt, so what was written before an attempt failed is not written twice. */
const exportAccounts = workflow({
  name: 'export-accounts',
  input: z.object({ system }),
  async run(ctx, { system }) {
    await connect(system, ctx.signal);
    return { system, batch: ctx.idempotencyKey, writtenCount: 12 };
  },
});

/** Six steps in four groups: the systems that are written to have nothing to do with each other, so both exports run side by side, and both confirmations. */
export default app({
  name: 'nightly-sync',
  workflows: [importAccounts, syncPeople, exportAccounts],
  manifests(scheduler) {
    scheduler
      .plan('nightly-sync', cron('0 2 * * *', { timeZone: 'Europe/London' }), { group: 'directories', timeoutSeconds: 4 * 3600 })
      .step('HR full import', importAccounts, { system: 'hr', mode: 'full' }, { maxAttempts: 3 })
      .step('HR full sync', syncPeople, { mode: 'full' })
      .parallel((group) =>
        group
          .step('AD export', exportAccounts, { system: 'ad' })
          .step('LDAP export', exportAccounts, { system: 'ldap' }, { continueOnFailure: true }),
      )
      .parallel((group) =>
        group
          .step('AD confirming import', importAccounts, { system: 'ad', mode: 'confirming' })
          .step('LDAP confirming import', importAccounts, { system: 'ldap', mode: 'confirming' }, { continueOnFailure: true }),
      );
  },
});
