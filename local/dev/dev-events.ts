import type { SyncReport } from '../../shared/define/sync.ts';
import type { Refusal } from '../aws-endpoint/aws-call.ts';
import type { Problem } from '../events/problem.ts';

/** What a person at the terminal should hear of. */
export interface DevEvents {
  onProgress(line: string): void;
  /** A line that a function logged, parsed if it is JSON. */
  onLog(functionName: string, line: Record<string, unknown> | string, stream: 'stdout' | 'stderr'): void;
  onRefused(refusal: Refusal): void;
  onProblem(problem: Problem): void;
  /** The definitions of the app were applied. */
  onSynced(report: SyncReport): void;
  /** The embedded Postgres ended by itself. */
  onDatabaseLost(reason: string): void;
}
