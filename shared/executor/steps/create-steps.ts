import { NonRetryableError, StepFailedError, StepTimeoutError } from '../../errors.ts';
import { toStorableJson } from '../../model/json.ts';
import type { WorkflowContext } from '../../model/workflow.ts';
import { isAbortedBy } from '../run-aborted.ts';
import { refuseInsideStep } from './current-step.ts';
import { endStep, type RecordedFailure } from './end-step.ts';
import type { RecordedStep, StepKind } from './load-steps.ts';
import { checkStepOptions, performStep } from './perform-step.ts';
import { runNested } from './run-nested.ts';
import type { Body, RunParts } from './run-parts.ts';
import { toSleepSeconds } from './sleep-seconds.ts';
import { type StepPlace, startSleep, startStep } from './start-step.ts';
import { toPath } from './step-name.ts';
import { never } from './watch-for-quiet.ts';

interface Call<Prepared> {
  kind: StepKind;
  name: string;
  /** Refuses what was given, before anything is read or written. */
  prepare(path: string): Prepared;
  perform(path: string, prepared: Prepared): Promise<unknown>;
}

/**
 * The part of a context that is durable. A call is answered from the record if it can be, in this order of events: the name is taken, the record is read, the beginning is
 * written, the work is done, the end is written. A call that cannot be answered in this invocation is held: its promise stays as it is, and nothing behind it happens.
 */
export function createSteps(parts: RunParts, body: Body): Pick<WorkflowContext, 'step' | 'run' | 'sleep'> {
  const { journal, pace, quiet, signal } = parts;
  const { scope } = body;

  function ask<Prepared>({ kind, name, prepare, perform }: Call<Prepared>): Promise<never> {
    const answer = async () => {
      if (isOutdated()) return never();
      const path = toPath(body.path, name);
      refuseInsideStep(`${kind} '${path}'`);
      const prepared = prepare(path);
      journal.take(path);
      scope.enter();
      try {
        const recorded = await journal.find(path, kind);
        if (recorded && isOver(recorded)) return await tell(recorded);
        await goOn();
        // A sleep takes no time here.
        if (kind !== 'sleep' && pace.isTooLate()) return await scope.hold();
        return await perform(path, prepared);
      } finally {
        scope.leave();
      }
    };
    const answered = answer();
    // A workflow may look at it later, or never: a step that failed in between is recorded, and must not end the process.
    answered.catch(() => {});
    return answered as Promise<never>;
  }

  /** What failed stays failed for the attempt, so that a workflow which has dealt with it takes the same way again; another attempt tries anew. */
  const isOver = ({ state, executionId }: RecordedStep) =>
    state === 'completed' || (state === 'failed' && executionId === body.executionId);

  function tell(step: RecordedStep): Promise<unknown> {
    journal.answer(step);
    if (step.state === 'completed') return journal.outputOf(step);
    throw toStepError(step.path, {
      code: step.failureCode ?? 'thrown',
      name: step.failureName ?? 'Error',
      message: step.failureMessage ?? '',
      stack: step.failureStack ?? undefined,
    });
  }

  /** Nobody waits for the answer any more: the run has left, or the nested one that asks has ended without waiting. */
  const isOutdated = () => quiet.isOver || scope.isClosed;

  async function goOn(): Promise<void> {
    if (isOutdated()) return never();
    if (signal.aborted) await stop(signal.reason);
  }

  /** A run that goes on elsewhere must not see its step fail; one that is to end may clean up. */
  async function stop(thrown: unknown): Promise<never> {
    if (isAbortedBy(signal, 'deadline', 'lease_lost')) return scope.hold();
    throw thrown;
  }

  /** Killed before this is written, the step runs again, here or in another attempt. */
  async function recordFailure(place: StepPlace, failure: RecordedFailure): Promise<never> {
    await journal.write(place.path, (db, lease) => endStep(db, lease, { ...place, failure }));
    journal.settle(place.path);
    throw toStepError(place.path, failure);
  }

  return {
    step: (name, act, options = {}) =>
      ask({
        kind: 'step',
        name,
        prepare: (path) => checkStepOptions(path, options),
        async perform(path) {
          const place = { ...journal.place(path), executionId: body.executionId, kind: 'step' as const };
          await journal.write(path, (db, lease) => startStep(db, lease, place));
          await goOn();
          journal.begin(path);
          const noteEnd = pace.begin();
          const performed = await performStep({ ...parts, log: body.log, path, act, options, isTooLate: () => pace.isTooLate() });
          noteEnd();
          if (quiet.isOver) return never();
          if ('aborted' in performed) return stop(performed.aborted);
          if ('failure' in performed)
            return performed.mayTryAgain && journal.settledCount > 0 ? scope.hold() : recordFailure(place, performed.failure);
          await journal.write(path, (db, lease) => endStep(db, lease, { ...place, ...performed }));
          journal.settle(path, performed.tally);
          void parts.runLog.flush();
          return JSON.parse(performed.outputText);
        },
      }),
    run: (name, workflow, input) =>
      ask({
        kind: 'run',
        name,
        prepare(path) {
          const stored = toStorableJson(input);
          if ('text' in stored) return stored.text;
          throw new NonRetryableError(`the input of nested run '${path}' cannot be stored: ${stored.problem}`);
        },
        perform: (path, inputText) => runNested(parts, body, { path, name, workflow, inputText, stop, toStepError }),
      }),
    sleep: (name, duration) =>
      ask({
        kind: 'sleep',
        name,
        prepare: (path) => toSleepSeconds(path, duration),
        async perform(path, seconds) {
          const place = { ...journal.place(path), executionId: body.executionId };
          const { resumeAt, remainingMs } = await journal.write(path, (db, lease) => startSleep(db, lease, { ...place, seconds }));
          if (remainingMs > 0) await scope.rest(resumeAt, remainingMs);
          await journal.write(path, (db, lease) => endStep(db, lease, place));
          journal.settle(path);
        },
      }),
  };
}

function toStepError(step: string, { code, name, message, stack }: RecordedFailure): StepFailedError {
  const failure = { step, code, message, errorName: name, stack };
  return code === 'step_timeout' ? new StepTimeoutError(failure) : new StepFailedError(failure);
}
