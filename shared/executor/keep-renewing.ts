import { setTimeout as wait } from 'node:timers/promises';
import { type Database, openDatabase } from '../db/database.ts';
import { messageOf } from '../errors.ts';
import type { ExecutionId } from '../model/ids.ts';
import { type Progress, type RenewedLease, renewLeases } from './renew-leases.ts';
import type { ThreadReport, Watch } from './renewal-messages.ts';
import { within } from './within.ts';

export interface KeepRenewing {
  signal: AbortSignal;
  /** The latest of each run. */
  progress: ReadonlyMap<ExecutionId, Progress>;
  report(message: ThreadReport): void;
}

/**
 * Renews the leases of one invocation, the first time at once and then at their rate, over a connection of its own that is closed with the last of them. It goes by
 * the database's own clock, whatever clock a test has given to the rest.
 *
 * A statement that is under way when the invocation answers can extend a lease once more: an outcome that was recorded is final and not touched by it, one that
 * was not is found by recovery that much later.
 */
export async function keepRenewing(watch: Watch, { signal, progress, report }: KeepRenewing): Promise<void> {
  const { leaseToken, leaseSeconds } = watch;
  const lost = new Set<ExecutionId>();
  let database: Database | undefined;
  let confirmedAt = performance.now() - watch.firstRenewalMs;
  let pauseMs = 0;
  while (await wait(pauseMs, true, { signal }).catch(() => false)) {
    const ids = listHeld(watch, lost);
    if (!ids.length) break;
    const askedAt = performance.now();
    try {
      database ??= openDatabase({ url: watch.databaseUrl, maxConnections: 1 });
      const leases = ids.map((id) => ({ id, progress: progress.get(id) }));
      const renewed = await within(watch.renewalAttemptMs, renewLeases(database, { leases, leaseToken, leaseSeconds }));
      confirmedAt = askedAt;
      pauseMs = watch.renewalMs;
      const answer = judge(ids, renewed);
      for (const id of answer.lost) lost.add(id);
      if (answer.lost.length || answer.cancelled.length) report({ kind: 'answer', leaseToken, ...answer });
    } catch (error) {
      discard(database);
      database = undefined;
      pauseMs = watch.renewalRetryMs;
      report({ kind: 'trouble', leaseToken, message: messageOf(error) });
      // Whoever can reach the database may have given the runs to others by now.
      if (performance.now() - confirmedAt >= leaseSeconds * 1000) {
        report({ kind: 'answer', leaseToken, lost: ids, cancelled: [] });
        break;
      }
    }
  }
  discard(database);
}

function listHeld({ leases, held }: Watch, lost: ReadonlySet<ExecutionId>): ExecutionId[] {
  return leases
    .filter(({ id, renewUntilAt }, index) => Atomics.load(held, index) === 1 && renewUntilAt.getTime() > Date.now() && !lost.has(id))
    .map(({ id }) => id);
}

function judge(ids: ExecutionId[], renewed: RenewedLease[]): { lost: ExecutionId[]; cancelled: ExecutionId[] } {
  const cancelled = renewed.filter(({ isCancelRequested }) => isCancelRequested).map(({ id }) => id);
  const kept = new Set(renewed.map(({ id }) => id));
  return { lost: ids.filter((id) => !kept.has(id)), cancelled };
}

/** Not awaited: a connection on which a statement hangs does not close before the statement ends. */
function discard(database: Database | undefined): void {
  database?.close().catch(() => {});
}
