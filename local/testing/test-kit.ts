import type { ExecutionState } from '../../shared/db/queries/execution-columns.ts';
import type { DeadLetterStatus } from '../../shared/db/queries/select-dead-letters.ts';
import type { InputOf, ManifestHandle } from '../../shared/model/manifest-handle.ts';
import type { AnyWorkflow } from '../../shared/model/workflow.ts';
import type { DeadLetterDescription } from '../../shared/operations/describe-dead-letter.ts';
import type { ExecutionDescription, ExecutionDetail } from '../../shared/operations/describe-execution.ts';
import type { ManifestDetail } from '../../shared/operations/describe-manifest.ts';
import type { QueueEntryDescription } from '../../shared/operations/list-queue.ts';
import type { RunWorkflow } from '../../shared/operations/run-workflow.ts';
import type { TriggerResult } from '../../shared/operations/trigger.ts';
import type { Duration, Instant } from './virtual-clock.ts';

export interface TestKitOptions {
  /** When the clock stands when the app is deployed; `2026-01-01T00:00:00Z` if not said, so that a test is the same on every day. */
  startAt?: Instant;
  /**
   * How long one run may take, in real time, before it is said to hang; 3000 if not said. Test runners commonly give a test five seconds: a limit beyond theirs would never get to say which
   * run it was.
   */
  runLimitMs?: number;
  /** Gets what the engine and `ctx.log` write, a JSON object per line. Nobody does if not said. */
  log?: (line: string) => void;
}

/** A manifest by its id, or by the handle that the builder gave. */
export type ManifestReference = string | ManifestHandle;

/**
 * An app, deployed into the real engine in this process: its manager, dispatcher and executor, on a database of its own, under a clock that only the test moves. Nothing runs by itself: work
 * is queued by the clock, by `trigger` and the like, and runs in `drain`, `advanceTo` and `advanceBy`.
 */
export interface TestKit extends AsyncDisposable {
  /** What the clock says. */
  readonly now: Date;
  /** Where its database is, for a look at the tables while a test stands still. */
  readonly databaseUrl: string;
  /** Runs what can run now until nothing is left; the clock stands still. */
  drain(): Promise<void>;
  /** Moves the clock on. Whatever falls due on the way, a retry or the end of a sleep included, runs at its own instant, in order; so does what falls due at the target. */
  advanceTo(target: Instant): Promise<void>;
  advanceBy(duration: Duration): Promise<void>;

  /** The executions so far, one per attempt, the oldest first. What is nested in one is among its `children`. */
  runs(filter?: { manifest?: ManifestReference; workflow?: string; state?: ExecutionState }): Promise<ExecutionDescription[]>;
  /** One execution with its steps, children and attempts. */
  run(executionId: string): Promise<ExecutionDetail>;
  manifest(manifest: ManifestReference): Promise<ManifestDetail>;
  /** What waits for a person, or has waited with another `status`; the newest first. */
  deadLetters(filter?: { manifest?: ManifestReference; status?: DeadLetterStatus }): Promise<DeadLetterDescription[]>;
  /** What is queued and has not been admitted, group by group, in the order of admission. */
  queue(filter?: { manifest?: ManifestReference; workflow?: string; group?: string }): Promise<QueueEntryDescription[]>;

  /** Asks for a run of a manifest, as a person would; with an input, for one with this input. */
  trigger<Of extends AnyWorkflow>(
    manifest: ManifestHandle<Of> | string,
    input?: InputOf<Of>,
    options?: { delaySeconds?: number },
  ): Promise<TriggerResult>;
  /** Asks for a run of a workflow that needs no manifest. */
  runWorkflow<Of extends AnyWorkflow>(
    workflow: Of,
    input: InputOf<Of>,
    options?: Omit<RunWorkflow, 'workflow' | 'input'>,
  ): Promise<{ queueEntryId: string }>;
  enable(manifest: ManifestReference): Promise<void>;
  disable(manifest: ManifestReference): Promise<void>;
  /** Cancels an execution: one that waits at once, one that runs through its signal. */
  cancel(executionId: string): Promise<{ outcome: 'cancelled' | 'requested' }>;
  retryDeadLetter(id: string, options?: { input?: unknown }): Promise<{ queueEntryId: string }>;
  acknowledgeDeadLetter(id: string, options?: { note?: string }): Promise<void>;

  /** Raises if what the tables say breaks one of the engine's rules, with the list: what a bug in the engine, or a statement past it, leaves behind. `close` does it too. */
  checkInvariants(): Promise<void>;
  /** Checks the invariants, and drops the database. */
  close(): Promise<void>;
}
