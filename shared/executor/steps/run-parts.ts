import type { Database } from '../../db/database.ts';
import type { ExecutionId } from '../../model/ids.ts';
import type { WorkflowContext } from '../../model/workflow.ts';
import type { Logger } from '../../observability/log.ts';
import type { Doorbell } from '../../queue/doorbell.ts';
import type { Redact } from '../redact.ts';
import type { Progress } from '../renew-leases.ts';
import type { RunLog } from '../run-log.ts';
import type { Tally } from './end-step.ts';
import type { Journal } from './journal.ts';
import type { Pace } from './pace.ts';
import type { Quiet, Scope } from './watch-for-quiet.ts';

/** What all steps of a run share in one invocation, nested ones too. */
export interface RunParts {
  database: Database;
  doorbell: Doorbell;
  leaseToken: string;
  /** The run's: timeout, cancellation, deadline, lost lease. */
  signal: AbortSignal;
  graceMs: number;
  journal: Journal;
  pace: Pace;
  quiet: Quiet;
  /** What the run says, kept beside it. */
  runLog: RunLog;
  createRedact(): Redact;
  reportProgress(progress: Progress): void;
  contextFor(body: Body): WorkflowContext;
  openBody(executionId: ExecutionId, path: string, scope: Scope): Body;
}

/** The workflow that was claimed, or one that is nested in it. */
export interface Body {
  executionId: ExecutionId;
  /** The names of the nested runs that lead to it; empty for the one that was claimed. */
  path: string;
  scope: Scope;
  /** What it told outside of its steps. */
  tally: Tally;
  /** To the log stream, with the ids of its execution, and to what is kept beside the run. */
  log: Logger;
}
