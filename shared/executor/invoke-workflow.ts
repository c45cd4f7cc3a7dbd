import { toStorableJson } from '../model/json.ts';
import type { AnyWorkflow } from '../model/workflow.ts';
import type { Logger } from '../observability/log.ts';
import type { Failure } from '../transitions/end-runs.ts';
import type { ClaimedExecution } from './claim-executions.ts';
import { createContext } from './context.ts';
import { describeFailure, describeThrown } from './describe-thrown.ts';
import type { Redact } from './redact.ts';

export type Invoked = { state: 'completed'; output: unknown } | { state: 'failed' | 'cancelled'; failure: Failure };

export interface InvokeWorkflow {
  signal: AbortSignal;
  /** How long the workflow may take to notice its signal. */
  graceMs: number;
  log: Logger;
  createRedact(): Redact;
}

/**
 * Validates the input and runs the workflow, both under the signal. Whatever is thrown becomes a failure; nothing is raised.
 *
 * A workflow that ignores its signal is left behind after the grace, so that one run cannot hold up the others of its batch. A promise cannot be killed: it may go on in
 * this process, in later invocations too, until the process ends. What it does through Waybill is refused, since its lease is over; what it does elsewhere is only
 * held together by its idempotency key. Ending the process would be no cure: the handler runs before its answer is sent, so it would take the outcomes of the
 * batch along, or the next invocation.
 */
export async function invokeWorkflow(workflow: AnyWorkflow, execution: ClaimedExecution, invoke: InvokeWorkflow): Promise<Invoked> {
  const { signal, graceMs, createRedact } = invoke;
  const grace = startGrace(signal, graceMs);
  try {
    return await Promise.race([perform(workflow, execution, invoke), grace.isOver]);
  } catch (thrown) {
    const failure = describeThrown(signal.aborted ? signal.reason : thrown, createRedact());
    return { state: failure.code === 'cancelled' ? 'cancelled' : 'failed', failure };
  } finally {
    grace.stop();
  }
}

async function perform(
  workflow: AnyWorkflow,
  execution: ClaimedExecution,
  { signal, log, createRedact }: InvokeWorkflow,
): Promise<Invoked> {
  const fail = (failure: Failure): Invoked => ({ state: 'failed', failure: describeFailure(failure, createRedact()) });
  signal.throwIfAborted();
  const parsed = await workflow.input['~standard'].validate(execution.input);
  if (parsed.issues) return fail({ code: 'invalid_input', message: describeIssues(parsed.issues), isFinal: true });
  // A validator that outlasted the run must not start it.
  signal.throwIfAborted();
  const output = toStorableJson(await workflow.run(createContext(execution, signal, log), parsed.value));
  if ('problem' in output)
    return fail({ code: 'invalid_output', message: `the output cannot be stored: ${output.problem}`, isFinal: true });
  return { state: 'completed', output: JSON.parse(output.text) };
}

/** Rejects when the signal was given and the grace is used up. */
function startGrace(signal: AbortSignal, graceMs: number): { isOver: Promise<never>; stop(): void } {
  let timer: NodeJS.Timeout | undefined;
  const { promise: isOver, reject } = Promise.withResolvers<never>();
  const begin = () => {
    timer = setTimeout(() => reject(signal.reason), graceMs);
  };
  if (signal.aborted) begin();
  else signal.addEventListener('abort', begin, { once: true });
  return {
    isOver,
    stop() {
      signal.removeEventListener('abort', begin);
      clearTimeout(timer);
    },
  };
}

function describeIssues(issues: readonly { message: string; path?: readonly unknown[] }[]): string {
  const lines = issues.slice(0, 10).map(({ message, path = [] }) => {
    const place = path.map((part) => String((part as { key?: unknown } | null)?.key ?? part)).join('.');
    return place ? `${place}: ${message}` : message;
  });
  return `the input is invalid: ${lines.join('; ')}${issues.length > 10 ? `; and ${issues.length - 10} more` : ''}`;
}
