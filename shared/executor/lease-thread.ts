import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { messageOf } from '../errors.ts';
import type { ThreadReport, ThreadRequest, Watch } from './renewal-messages.ts';

/** The thread is a module of its own beside this one, and beside every chunk of a bundle; its name ends as theirs do. */
const threadUrl = new URL(`./renewal-thread${extname(import.meta.url)}`, import.meta.url);
const RESTART_MS = 1_000;

const watches = new Map<string, { watch: Watch; onReport: (report: ThreadReport) => void }>();
let thread: Worker | undefined;

/**
 * Puts runs under the care of the renewal thread, of which a process has one, from its first run to its end. It must be there before user code runs: code that
 * blocks from its first line leaves no moment in which a thread could be started. Starting it takes this thread a few milliseconds, once.
 */
export function startWatch(watch: Watch, onReport: (report: ThreadReport) => void): void {
  watches.set(watch.leaseToken, { watch, onReport });
  begin(watch);
}

export function stopWatch(leaseToken: string): void {
  watches.delete(leaseToken);
  tellThread({ kind: 'stop', leaseToken });
}

/** Does nothing while there is no thread: one that is started later is told of what is still watched then. */
export function tellThread(request: ThreadRequest): void {
  thread?.postMessage(request);
}

/** Never raises: a run that was claimed goes on without renewals rather than not at all. */
function begin(watch: Watch): void {
  try {
    thread ??= startThread();
    tellThread(watch);
  } catch (error) {
    reportTrouble(error);
  }
}

function startThread(): Worker {
  // Without the flags of the process: some are for its own entry only, and refused in a thread.
  const worker = new Worker(threadUrl, { name: 'waybill-renewal', execArgv: [] });
  worker.on('message', (report: ThreadReport) => watches.get(report.leaseToken)?.onReport(report));
  worker.on('error', reportTrouble);
  worker.on('exit', () => {
    if (thread === worker) thread = undefined;
    setTimeout(resume, RESTART_MS).unref();
  });
  worker.unref();
  return worker;
}

/** A thread that died is replaced while anybody needs it; a lease outlasts the pause. */
function resume(): void {
  if (!thread) for (const { watch } of watches.values()) begin({ ...watch, firstRenewalMs: 0 });
}

function reportTrouble(error: unknown): void {
  for (const { watch, onReport } of watches.values())
    onReport({ kind: 'trouble', leaseToken: watch.leaseToken, message: messageOf(error) });
}
