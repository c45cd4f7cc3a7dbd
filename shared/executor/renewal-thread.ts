import { setTimeout as wait } from 'node:timers/promises';
import { parentPort } from 'node:worker_threads';
import type { ExecutionId } from '../model/ids.ts';
import type { Progress } from './renew-leases.ts';
import type { ThreadReport, ThreadRequest, Watch } from './renewal-messages.ts';

/**
 * The thread that renews leases, so that user code which blocks the event loop keeps its own. It loads next to nothing until the first renewal is due: most runs
 * are over by then. It ends with the process; killed, the leases run out and recovery ends the runs.
 */
const watched = new Map<string, { stop: AbortController; progress: Map<ExecutionId, Progress> }>();
const report = (message: ThreadReport) => parentPort?.postMessage(message);

async function begin(watch: Watch): Promise<void> {
  const stop = new AbortController();
  const progress = new Map<ExecutionId, Progress>();
  watched.set(watch.leaseToken, { stop, progress });
  try {
    if (!(await wait(watch.firstRenewalMs, true, { signal: stop.signal }).catch(() => false))) return;
    const { keepRenewing } = await import('./keep-renewing.ts');
    await keepRenewing(watch, { signal: stop.signal, progress, report });
  } finally {
    watched.delete(watch.leaseToken);
  }
}

parentPort?.on('message', (request: ThreadRequest) => {
  if (request.kind === 'watch') void begin(request);
  else if (request.kind === 'progress') watched.get(request.leaseToken)?.progress.set(request.id, request.progress);
  else watched.get(request.leaseToken)?.stop.abort();
});
