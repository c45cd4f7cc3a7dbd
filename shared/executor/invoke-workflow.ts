import { setTimeout as wait } from 'node:timers/promises';
import { messageOf } from '../errors.ts';
import { toStorableJson, toStorableText } from '../model/json.ts';
import type { AnyWorkflow } from '../model/workflow.ts';
import type { Logger } from '../observability/log.ts';
import type { Failure } from '../transitions/end-runs.ts';
import type { ClaimedExecution } from './claim-executions.ts';
import { createContext } from './context.ts';

/** How long a workflow may take to notice its signal before the run is recorded without it. */
const GRACE_MS = 1_000;

export type Invoked = { state: 'completed'; output: unknown } | { state: 'failed'; failure: Failure };

/** The reason an AbortSignal carries: it becomes the recorded failure. */
export class RunAborted extends Error {
  readonly code: 'timeout' | 'cancelled' | 'deadline' | 'lease_lost';
  constructor(code: RunAborted['code'], message: string) {
    super(message);
    this.name = 'RunAborted';
    this.code = code;
  }
}

/** Validates the input and runs the workflow under the signal. Whatever is thrown becomes a failure; nothing is raised. */
export async function invokeWorkflow(
  workflow: AnyWorkflow,
  execution: ClaimedExecution,
  signal: AbortSignal,
  log: Logger,
): Promise<Invoked> {
  try {
    const parsed = await workflow.input['~standard'].validate(execution.input);
    if (parsed.issues) return failed({ code: 'invalid_input', message: describeIssues(parsed.issues), isFinal: true });
    const running = Promise.resolve(workflow.run(createContext(execution, signal, log), parsed.value));
    const output = toStorableJson(await Promise.race([running, rejectOnAbort(signal)]));
    if ('problem' in output)
      return failed({ code: 'invalid_output', message: `the output cannot be stored: ${output.problem}`, isFinal: true });
    return { state: 'completed', output: JSON.parse(output.text) };
  } catch (thrown) {
    return failed(describeThrown(signal.aborted ? signal.reason : thrown));
  }
}

/** A workflow that ignores its signal is left behind, so that one run cannot hold up the batch. */
function rejectOnAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const rejectLater = () => wait(GRACE_MS, undefined, { ref: false }).then(() => reject(signal.reason));
    if (signal.aborted) rejectLater();
    else signal.addEventListener('abort', rejectLater, { once: true });
  });
}

function failed(failure: Failure): Invoked {
  return { state: 'failed', failure: { ...failure, message: toStorableText(failure.message, 4_000) } };
}

function describeThrown(thrown: unknown): Failure {
  const isFinal = thrown instanceof Error && thrown.name === 'NonRetryableError';
  const code = thrown instanceof RunAborted ? thrown.code : isFinal ? 'non_retryable' : 'thrown';
  const stack = thrown instanceof Error && thrown.stack ? toStorableText(thrown.stack, 16_000) : undefined;
  return { code, message: messageOf(thrown), stack, isFinal };
}

function describeIssues(issues: readonly { message: string; path?: readonly unknown[] }[]): string {
  const lines = issues.slice(0, 10).map(({ message, path = [] }) => {
    const place = path.map((part) => String((part as { key?: unknown })?.key ?? part)).join('.');
    return place ? `${place}: ${message}` : message;
  });
  return `the input is invalid: ${lines.join('; ')}${issues.length > 10 ? `; and ${issues.length - 10} more` : ''}`;
}
