import type { Database, DatabaseOptions } from '../db/database.ts';
import type { LogFields, Logger, LogLevel } from '../observability/log.ts';
import type { Doorbell } from '../queue/doorbell.ts';
import type { ClaimedExecution } from './claim-executions.ts';
import { createContext } from './context.ts';
import { reachDatabase } from './reach-database.ts';
import type { Redact } from './redact.ts';
import type { Progress } from './renew-leases.ts';
import { openRunLog } from './run-log.ts';
import { emptyTally } from './steps/current-step.ts';
import { openJournal } from './steps/journal.ts';
import { createPace } from './steps/pace.ts';
import type { Body, RunParts } from './steps/run-parts.ts';
import { watchForQuiet } from './steps/watch-for-quiet.ts';

export interface OpenParts {
  database: Database;
  databaseOptions: DatabaseOptions;
  doorbell: Doorbell;
  pooledAttemptMs: number;
  retryMs: readonly number[];
  leaseToken: string;
  signal: AbortSignal;
  /** When the invocation must stop, on the clock of `performance.now()`. */
  stopAt: number;
  /** How long a workflow, or a step, may take to notice its signal. */
  graceMs: number;
  /** The lease turned out to be lost. */
  onLost(): void;
  /** How long lines of the run's log wait for others. */
  logFlushMs: number;
  reportProgress(progress: Progress): void;
  log: Logger;
  createRedact(): Redact;
}

/** What the steps of one run share in one invocation, and the body of its workflow. Nothing is read or written before a step is asked for. */
export function openParts(execution: ClaimedExecution, invoke: OpenParts): { parts: RunParts; body: Body } {
  const { database, databaseOptions, doorbell, leaseToken, signal, stopAt, graceMs, onLost, log, createRedact, reportProgress } = invoke;
  const quiet = watchForQuiet();
  const journal = openJournal({
    runId: execution.runId,
    lease: { holderId: execution.id, leaseToken },
    reach: (work) => reachDatabase('a step was recorded', work, invoke),
    onLost,
  });
  const secretUrls = [databaseOptions.url];
  const runLog = openRunLog({ db: database, runId: execution.runId, secretUrls, log, flushMs: invoke.logFlushMs });
  const manifest = execution.externalId ?? undefined;
  const parts: RunParts = {
    database,
    doorbell,
    leaseToken,
    signal,
    graceMs,
    journal,
    pace: createPace(stopAt),
    quiet,
    runLog,
    createRedact,
    reportProgress,
    contextFor: (body) => createContext(execution, parts, body),
    openBody: (executionId, path, scope) => ({
      executionId,
      path,
      scope,
      tally: emptyTally(),
      log: logToBoth(log, { executionId: String(executionId), manifest }, runLog.loggerFor(executionId)),
    }),
  };
  return { parts, body: parts.openBody(execution.id, '', quiet.root) };
}

/** The stream is shared with other runs, so its lines carry ids. */
function logToBoth(stream: Logger, ids: LogFields, kept: Logger): Logger {
  const at = (level: LogLevel) => (message: string, fields?: LogFields) => {
    stream[level](message, { ...ids, ...fields });
    kept[level](message, fields);
  };
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}
