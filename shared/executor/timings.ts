/** Every duration that the executor goes by. Tests pass shorter ones; of a deployment only the lease can be set, see `leaseTimings`. */
export interface ExecutorTimings {
  /** How long a claim, or a renewal, keeps others away. */
  leaseSeconds: number;
  /** How old a run is when its lease is renewed for the first time; shorter runs never pay for a renewal. */
  firstRenewalMs: number;
  /** From one renewal to the next: two may fail before the lease runs out. */
  renewalMs: number;
  /** How soon a renewal that failed is tried again. */
  renewalRetryMs: number;
  /** How long one renewal may take before its connection is given up. */
  renewalAttemptMs: number;
  /** How long past its limit a run is still renewed: one that hangs that long will not end by itself. */
  overtimeMs: number;
  /** How long a workflow may take to notice its signal before its run is recorded without it. */
  graceMs: number;
  /** What an invocation keeps for recording before its function's own deadline; at most a third of what it has. */
  recordingMs: number;
  /** Outcomes that arrive within this time share one commit. */
  groupCommitMs: number;
  /**
   * How long the pooled connection may take for what a run records before it is given up for a fresh one. Recording takes milliseconds, and of `recordingMs` more than half must be left for
   * the fresh one. Where it is somebody's lock that takes so long, the second try waits behind the first and finds its work done.
   */
  pooledAttemptMs: number;
  /** The pauses before outcomes are sent again to a database that went away; after the last, the lease decides. */
  recordingRetryMs: readonly number[];
  /** How long lines that a run logs wait for others before they are kept beside it. */
  logFlushMs: number;
  /** How long an unknown workflow is waited for: a rollout may be under way. */
  rolloutSeconds: number;
}

export const defaultTimings: ExecutorTimings = {
  leaseSeconds: 45,
  firstRenewalMs: 10_000,
  renewalMs: 15_000,
  renewalRetryMs: 1_000,
  renewalAttemptMs: 10_000,
  overtimeMs: 30_000,
  graceMs: 1_000,
  recordingMs: 5_000,
  groupCommitMs: 20,
  pooledAttemptMs: 2_000,
  recordingRetryMs: [50, 250, 1_000, 3_000],
  logFlushMs: 1_000,
  rolloutSeconds: 600,
};
