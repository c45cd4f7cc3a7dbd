import type { ExecutionId } from '../model/ids.ts';
import type { Logger } from '../observability/log.ts';
import { startWatch, stopWatch, tellThread } from './lease-thread.ts';
import type { Progress } from './renew-leases.ts';
import type { ThreadReport, Watch } from './renewal-messages.ts';
import type { ExecutorTimings } from './timings.ts';

export interface KeepLeases {
  databaseUrl: string;
  leaseToken: string;
  leases: Watch['leases'];
  timings: ExecutorTimings;
  onLost(id: ExecutionId): void;
  onCancelRequested(id: ExecutionId): void;
  log: Logger;
}

export interface LeaseKeeper {
  /** The run is over: its lease is not renewed any more, from this instant on. */
  release(id: ExecutionId): void;
  /** Written with the next renewal; runs that end before their first have no progress worth showing. */
  reportProgress(id: ExecutionId, progress: Progress): void;
  /** Releases all. To be called before the invocation answers: a frozen process must find nothing to renew when it wakes. */
  stop(): void;
}

/** Has the leases of an invocation renewed by another thread, and tells which of its runs were cancelled or lost. */
export function keepLeases({ databaseUrl, leaseToken, leases, timings, onLost, onCancelRequested, log }: KeepLeases): LeaseKeeper {
  const held = new Int32Array(new SharedArrayBuffer(leases.length * Int32Array.BYTES_PER_ELEMENT)).fill(1);
  const { leaseSeconds, firstRenewalMs, renewalMs, renewalRetryMs, renewalAttemptMs } = timings;
  const pace = { leaseSeconds, firstRenewalMs, renewalMs, renewalRetryMs, renewalAttemptMs };

  function hear(report: ThreadReport): void {
    if (report.kind === 'trouble') {
      log.warn('leases could not be renewed, trying again', { reason: report.message, executionIds: leases.map(({ id }) => String(id)) });
      return;
    }
    report.lost.forEach(onLost);
    report.cancelled.forEach(onCancelRequested);
  }

  if (leases.length) startWatch({ kind: 'watch', leaseToken, databaseUrl, leases, held, ...pace }, hear);
  return {
    release(id) {
      const index = leases.findIndex((lease) => lease.id === id);
      if (index >= 0) Atomics.store(held, index, 0);
    },
    reportProgress(id, progress) {
      tellThread({ kind: 'progress', leaseToken, id, progress });
    },
    stop() {
      for (const index of held.keys()) Atomics.store(held, index, 0);
      stopWatch(leaseToken);
    },
  };
}
