import { setTimeout as wait } from 'node:timers/promises';
import type { AnyWorkflow } from '../model/workflow.ts';
import type { Failure } from '../transitions/end-runs.ts';
import type { ClaimedExecution } from './claim-executions.ts';
import { describeFailure, describeThrown } from './describe-thrown.ts';
import { isInputOutdated } from './is-input-outdated.ts';
import { addTallies, judgeItems } from './judge-items.ts';
import { type OpenParts, openParts } from './open-parts.ts';
import { performWorkflow } from './perform-workflow.ts';
import { isAbortedBy, reasons } from './run-aborted.ts';
import type { Tally } from './steps/end-step.ts';
import type { Body, RunParts } from './steps/run-parts.ts';
import type { Suspension } from './steps/watch-for-quiet.ts';

export type Invoked = Ended | { state: 'suspended'; suspension: Suspension };

export type Ended = (Completed | { state: 'failed' | 'cancelled'; failure: Failure }) & {
  /** It recorded nothing that the end of the run would have to look after. */
  hasNoParts?: boolean;
  tally?: Tally;
};

export interface Completed {
  state: 'completed' | 'completed_with_warnings';
  output: unknown;
}

/** How many steps a line of the log names. */
const MOST_NAMED = 20;
/** The last lines of a run are waited for, but not longer than this: its outcome is worth more. */
const LONGEST_FLUSH_MS = 2_000;

export type InvokeWorkflow = OpenParts;

/**
 * Validates the input and runs the workflow, both under the signal. Whatever is thrown becomes a failure; nothing is raised. A run that cannot go on in this invocation, because it
 * sleeps or too little time is left for its next step, is suspended; if it got no further in this one, another would not help, and it fails.
 *
 * A workflow that ignores its signal is left behind after the grace, so that one run cannot hold up the others of its batch. A promise cannot be killed: it may go on in
 * this process, in later invocations too, until the process ends. What it does through Waybill is refused, since its lease is over; what it does elsewhere is only
 * held together by its idempotency key. Ending the process would be no cure: the handler runs before its answer is sent, so it would take the outcomes of the
 * batch along, or the next invocation.
 */
export async function invokeWorkflow(workflow: AnyWorkflow, execution: ClaimedExecution, invoke: InvokeWorkflow): Promise<Invoked> {
  const { parts, body } = openParts(execution, invoke);
  const invoked = await perform(workflow, execution, invoke, parts, body);
  await Promise.race([parts.runLog.flush(), wait(LONGEST_FLUSH_MS, undefined, { ref: false })]);
  if (invoked.state === 'suspended') return invoked;
  const hasNoParts = !parts.journal.isUsed && !execution.isContinued;
  return { ...invoked, hasNoParts, tally: totalOf(parts, body) };
}

const totalOf = ({ journal }: RunParts, { tally }: Body) => addTallies([tally, journal.total('')]);

async function perform(
  workflow: AnyWorkflow,
  execution: ClaimedExecution,
  { signal, graceMs, createRedact, database }: InvokeWorkflow,
  parts: RunParts,
  body: Body,
): Promise<Invoked> {
  const { journal, quiet } = parts;
  const grace = startGrace(signal, graceMs);
  try {
    const performed = await Promise.race([
      performWorkflow(workflow, {
        input: execution.input,
        context: parts.contextFor(body),
        isInputOutdated: () => isInputOutdated(database, execution.runId),
      }),
      quiet.reached.then((suspension) => ({ suspension })),
      grace.isOver,
    ]);
    if ('suspension' in performed) return suspend(performed.suspension, parts);
    if ('failure' in performed) return { state: 'failed', failure: describeFailure(performed.failure, createRedact()) };
    warnOfForgotten(parts, body);
    const judged = judgeItems(totalOf(parts, body), body.tally);
    return judged.state === 'failed' ? judged : { state: judged.state, output: JSON.parse(performed.outputText) };
  } catch (thrown) {
    if (isAbortedBy(signal, 'deadline') && journal.isUsed) return suspend({ kind: 'continue' }, parts);
    const failure = describeThrown(signal.aborted ? signal.reason : thrown, createRedact());
    return { state: failure.code === 'cancelled' ? 'cancelled' : 'failed', failure };
  } finally {
    quiet.end();
    grace.stop();
  }
}

function warnOfForgotten({ journal }: RunParts, { log }: Body): void {
  const forgotten = journal.listForgotten();
  if (forgotten.length)
    log.warn('steps are recorded that the run did not ask for: their names were changed, or what asked for them is gone', {
      steps: forgotten.slice(0, MOST_NAMED),
      count: forgotten.length,
    });
}

/** Raises what else has told the run to stop. */
function suspend(suspension: Suspension, { signal, journal }: RunParts): Invoked {
  if (signal.aborted && !isAbortedBy(signal, 'deadline')) throw signal.reason;
  if (suspension.kind === 'sleep' || journal.settledCount > 0) return { state: 'suspended', suspension };
  const [step] = journal.underWay;
  const { code, message } = reasons.stepTooLong(step);
  return { state: 'failed', failure: { code, message, step } };
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
