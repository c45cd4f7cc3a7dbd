import { LONGEST_MS } from './longest-timer.ts';
import { reasons } from './run-aborted.ts';
import type { ExecutorTimings } from './timings.ts';

export interface InvocationLimits {
  /** When runs must stop, on the clock of `performance.now()`. */
  stopAt: number;
  graceMs: number;
}

/** Leaves enough of the function's time for workflows to notice their signal and for their outcomes to be recorded, however little there is. */
export function limitInvocation(remainingMs: number, { recordingMs, graceMs }: ExecutorTimings): InvocationLimits {
  const reservedMs = Math.min(recordingMs, remainingMs / 3);
  return { stopAt: performance.now() + remainingMs - reservedMs, graceMs: Math.min(graceMs, reservedMs / 2) };
}

export interface RunLimits {
  timeoutSeconds: number | null;
  /** What earlier invocations have used of the timeout. */
  runningMs: number;
  stopAt: number;
}

/** How long the run may take, from now. */
export function allowedMs(limits: RunLimits): number {
  return Math.min(Math.max(limits.stopAt - performance.now(), 0), leftOfTimeoutMs(limits), LONGEST_MS);
}

/** The timeout counts the time in which the run was running, in however many invocations, and not the time in which it slept or waited. */
function leftOfTimeoutMs({ timeoutSeconds, runningMs }: RunLimits): number {
  return timeoutSeconds === null ? LONGEST_MS : Math.max(timeoutSeconds * 1000 - runningMs, 0);
}

/** Aborts the run at its own timeout or at the invocation's end, whichever comes first, unless stopped. */
export function startLimits(limits: RunLimits, abort: AbortController): { stop(): void } {
  const { timeoutSeconds, stopAt } = limits;
  const isTimeout = timeoutSeconds !== null && performance.now() + leftOfTimeoutMs(limits) < stopAt;
  const timer = setTimeout(() => abort.abort(isTimeout ? reasons.timeout(timeoutSeconds) : reasons.deadline()), allowedMs(limits));
  return { stop: () => clearTimeout(timer) };
}
