import type { Database } from '../db/database.ts';
import type { ExecutionId } from '../model/ids.ts';
import type { Logger } from '../observability/log.ts';
import { RunAborted } from './invoke-workflow.ts';
import { renewLeases } from './renew-leases.ts';

/** The first renewal comes late enough that short runs never pay for one. */
const FIRST_RENEWAL_MS = 10_000;
const RENEWAL_MS = 15_000;

export interface KeepLeases {
  database: Database;
  leaseToken: string;
  leaseSeconds: number;
  /** The runs under way; whoever finishes takes its run out. */
  aborts: ReadonlyMap<ExecutionId, AbortController>;
  log: Logger;
}

/** Renews the leases of all runs under way until stopped, and aborts the runs that were cancelled or lost. */
export function keepLeases({ database, leaseToken, leaseSeconds, aborts, log }: KeepLeases): { stop(): void } {
  let timer = setTimeout(renew, FIRST_RENEWAL_MS);
  let isStopped = false;

  async function renew(): Promise<void> {
    const ids = [...aborts.keys()];
    try {
      if (ids.length) {
        const renewed = new Map((await renewLeases(database, { ids, leaseToken, leaseSeconds })).map((row) => [row.id, row]));
        for (const id of ids) {
          if (!renewed.has(id))
            aborts.get(id)?.abort(new RunAborted('lease_lost', 'the lease was lost: the run was ended by somebody else'));
          else if (renewed.get(id)?.isCancelRequested) aborts.get(id)?.abort(new RunAborted('cancelled', 'the run was cancelled'));
        }
      }
    } catch (error) {
      log.warn('leases could not be renewed, trying again', { error, executionIds: ids });
    }
    if (!isStopped) timer = setTimeout(renew, RENEWAL_MS);
  }

  return {
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}
