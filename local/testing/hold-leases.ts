import type { KeepLeases, LeaseKeeper } from '../../shared/executor/keep-leases.ts';
import type { ExecutionId } from '../../shared/model/ids.ts';

/** Knows the runs of a process, and can tell one to stop. */
export interface HeldLeases {
  keepLeases(options: KeepLeases): LeaseKeeper;
  /** What a renewal would tell the run: that somebody has asked for its cancellation. */
  cancel(executionId: ExecutionId): void;
  /** Leaves the run to recovery, like one whose function was killed, with a signal to those that listen. */
  giveUp(executionId: ExecutionId): void;
}

/**
 * Keeps leases under a clock that stands still while anything runs: none runs out, so none is renewed, and no thread is started for it. Renewals also bring news of cancellations; here
 * whoever cancels tells the run directly.
 */
export function holdLeases(): HeldLeases {
  const keepers = new Map<ExecutionId, KeepLeases>();
  return {
    keepLeases(options) {
      for (const { id } of options.leases) keepers.set(id, options);
      return {
        release: (id) => keepers.delete(id),
        // Written with renewals only: a run that needs none has no progress worth showing.
        reportProgress() {},
        stop() {
          for (const { id } of options.leases) keepers.delete(id);
        },
      };
    },
    cancel: (id) => keepers.get(id)?.onCancelRequested(id),
    giveUp: (id) => keepers.get(id)?.onLost(id),
  };
}
