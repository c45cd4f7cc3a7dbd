import type { ExecutionId } from '../model/ids.ts';
import type { Progress } from './renew-leases.ts';
import type { ExecutorTimings } from './timings.ts';

/** The runs of one invocation, as the renewal thread is asked to look after them. */
export interface Watch
  extends Pick<ExecutorTimings, 'leaseSeconds' | 'firstRenewalMs' | 'renewalMs' | 'renewalRetryMs' | 'renewalAttemptMs'> {
  kind: 'watch';
  leaseToken: string;
  databaseUrl: string;
  leases: { id: ExecutionId; renewUntilAt: Date }[];
  /**
   * One flag per lease, 1 while it is held, in memory that both threads share. A message could be overtaken: a process that is frozen right after it was sent
   * and thawed for another invocation might first run a timer that is due and renew what nobody runs any more.
   */
  held: Int32Array;
}

export type ThreadRequest =
  | Watch
  | { kind: 'progress'; leaseToken: string; id: ExecutionId; progress: Progress }
  | { kind: 'stop'; leaseToken: string };

export type ThreadReport =
  | { kind: 'answer'; leaseToken: string; lost: ExecutionId[]; cancelled: ExecutionId[] }
  | { kind: 'trouble'; leaseToken: string; message: string };
