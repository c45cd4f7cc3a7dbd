import { messageOf } from '../../shared/errors.ts';
import { createBackoff } from '../events/backoff.ts';
import type { OnProblem } from '../events/problem.ts';
import type { InvocationResult, Invoke } from './invocation.ts';

export interface AsyncInvocations {
  /** Invokes once the function has room for it. */
  accept(functionName: string, invoke: Invoke, event: unknown): void;
  /** Forgets what still waits for room and resolves when what runs has ended. */
  stop(): Promise<void>;
}

/**
 * Invocations whose callers do not wait. One that fails is reported and not tried again, where Lambda would try twice more and then tell the function's destination. They live
 * in this process: killed, it forgets them, which AWS would not do.
 */
export function startAsyncInvocations(onProblem: OnProblem): AsyncInvocations {
  const stopping = new AbortController();
  const running = new Set<Promise<void>>();

  async function deliver(functionName: string, invoke: Invoke, event: unknown): Promise<void> {
    const backoff = createBackoff(stopping.signal);
    while (!stopping.signal.aborted) {
      const result = await invokeSafely(invoke, event);
      if (result.status === 'failed' && !stopping.signal.aborted) {
        const { errorType, errorMessage } = result.error;
        onProblem({
          source: functionName,
          message: `an asynchronous invocation failed and is not repeated: ${errorType}: ${errorMessage}`,
        });
      }
      if (result.status !== 'throttled') return;
      await backoff.wait();
    }
  }

  return {
    accept(functionName, invoke, event) {
      const delivery = deliver(functionName, invoke, event).finally(() => running.delete(delivery));
      running.add(delivery);
    },
    async stop() {
      stopping.abort();
      await Promise.all(running);
    },
  };
}

async function invokeSafely(invoke: Invoke, event: unknown): Promise<InvocationResult> {
  try {
    return await invoke(event);
  } catch (error) {
    return { status: 'failed', error: { errorType: 'InvocationError', errorMessage: messageOf(error) } };
  }
}
