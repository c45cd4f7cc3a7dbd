import { setTimeout as wait } from 'node:timers/promises';
import { NonRetryableError, StepTimeoutError } from '../../errors.ts';
import { toStorableJson } from '../../model/json.ts';
import type { StepContext, StepOptions } from '../../model/workflow.ts';
import type { Logger } from '../../observability/log.ts';
import { describeName, describeThrown } from '../describe-thrown.ts';
import type { Redact } from '../redact.ts';
import { currentStep, emptyTally } from './current-step.ts';
import type { RecordedFailure, Tally } from './end-step.ts';

export interface PerformStep {
  path: string;
  act(step: StepContext): unknown;
  options: StepOptions;
  /** The run's. */
  signal: AbortSignal;
  /** How long a step may take to notice that its time is over. */
  graceMs: number;
  createRedact(): Redact;
  /** Whether there is no time for another try. */
  isTooLate(): boolean;
  log: Logger;
}

/** `aborted`: the run was told to stop, and so the step did not end; what was thrown says nothing about it. */
export type Performed = { outputText: string; tally: Tally } | FailedStep | { aborted: unknown };

export interface FailedStep {
  failure: RecordedFailure;
  /** It failed before its tries were used up, because there was no time for another. */
  mayTryAgain: boolean;
}

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 10_000;
const MOST_RETRIES = 100;

/** Runs the code of a step, again if it fails and may be tried again, each try with its own time. Nothing is raised and nothing is recorded here. */
export async function performStep(step: PerformStep): Promise<Performed> {
  const { path, options, signal, log } = step;
  for (let tried = 1; ; tried++) {
    const performed = await performOnce(step);
    if (!('failure' in performed)) return performed;
    const mayTryAgain = performed.mayTryAgain && tried <= (options.retries ?? 0);
    if (!mayTryAgain || step.isTooLate()) return { ...performed, mayTryAgain };
    log.warn(`step '${path}' failed and is tried again`, { step: path, tried, reason: performed.failure.message });
    const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** (tried - 1), LONGEST_PAUSE_MS);
    await wait(pauseMs, undefined, { signal }).catch(() => {});
    if (signal.aborted) return { aborted: signal.reason };
  }
}

async function performOnce({ path, act, options: { timeoutSeconds }, signal, graceMs, createRedact }: PerformStep): Promise<Performed> {
  const timeout = limitTime(path, timeoutSeconds, graceMs);
  const tally = emptyTally();
  try {
    const context = { signal: AbortSignal.any([signal, timeout.signal]) };
    const output = toStorableJson(await Promise.race([currentStep.run({ path, tally }, async () => act(context)), timeout.isOver]));
    if ('text' in output) return { outputText: output.text, tally };
    const message = `the output of step '${path}' cannot be stored: ${output.problem}`;
    return { failure: { code: 'invalid_output', name: 'NonRetryableError', message }, mayTryAgain: false };
  } catch (thrown) {
    if (signal.aborted) return { aborted: thrown };
    const reason = timeout.signal.aborted ? timeout.signal.reason : thrown;
    const { code, message, stack, isFinal = false } = describeThrown(reason, createRedact());
    return { failure: { code, message, stack, name: describeName(reason) }, mayTryAgain: !isFinal };
  } finally {
    timeout.stop();
  }
}

/** A step that does not notice its signal is left behind after the grace; it may go on in this process, like a run that ignores its own. */
function limitTime(path: string, timeoutSeconds: number | undefined, graceMs: number) {
  const abort = new AbortController();
  const { promise: isOver, reject } = Promise.withResolvers<never>();
  // Nobody listens any more once the step has ended.
  isOver.catch(() => {});
  let timer: NodeJS.Timeout | undefined;
  if (timeoutSeconds !== undefined)
    timer = setTimeout(() => {
      const message = `step '${path}' took longer than its timeout of ${timeoutSeconds} s`;
      abort.abort(new StepTimeoutError({ step: path, code: 'step_timeout', message, errorName: 'StepTimeoutError' }));
      timer = setTimeout(() => reject(abort.signal.reason), graceMs);
    }, timeoutSeconds * 1000);
  return { signal: abort.signal, isOver, stop: () => clearTimeout(timer) };
}

/** What a step may be given as options; anything else is a mistake that would otherwise show only when the step fails. */
export function checkStepOptions(path: string, { retries = 0, timeoutSeconds = 1 }: StepOptions): void {
  if (!Number.isInteger(retries) || retries < 0 || retries > MOST_RETRIES)
    throw new NonRetryableError(`retries of step '${path}' is ${retries}: it must be a whole number from 0 to ${MOST_RETRIES}`);
  if (!(timeoutSeconds > 0 && timeoutSeconds <= 900))
    throw new NonRetryableError(
      `timeoutSeconds of step '${path}' is ${timeoutSeconds}: it must be more than 0 and at most 900, the longest a function runs`,
    );
}
