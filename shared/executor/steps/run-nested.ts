import type { AnyWorkflow } from '../../model/workflow.ts';
import { endNestedRuns } from '../../transitions/end-nested-runs.ts';
import type { Failure } from '../../transitions/end-runs.ts';
import { describeFailure, describeName, describeThrown } from '../describe-thrown.ts';
import { addTallies, judgeItems } from '../judge-items.ts';
import { performWorkflow } from '../perform-workflow.ts';
import { endNestedRun } from './end-nested-run.ts';
import { endStep, type RecordedFailure, type Tally } from './end-step.ts';
import type { Body, RunParts } from './run-parts.ts';
import { type NestedRun, startNestedRun } from './start-nested-run.ts';
import { startStep } from './start-step.ts';
import { never } from './watch-for-quiet.ts';

export interface RunNested {
  path: string;
  name: string;
  workflow: AnyWorkflow;
  inputText: string;
  stop(thrown: unknown): Promise<never>;
  toStepError(path: string, failure: RecordedFailure): Error;
}

/**
 * Runs a workflow inside of another: its execution and its step begin in one transaction and end in one. Killed in between, recovery ends both with their holder, and the next attempt
 * begins a new execution under the same name, in which the steps that were completed are not run again.
 */
export async function runNested(
  parts: RunParts,
  above: Body,
  { path, name, workflow, inputText, stop, toStepError }: RunNested,
): Promise<unknown> {
  const { journal, quiet, leaseToken } = parts;
  const place = { ...journal.place(path), executionId: above.executionId, kind: 'run' as const };
  const child = await journal.write(path, (database, lease) =>
    database.transaction(async (db) => {
      if (!(await startStep(db, lease, place))) return undefined;
      return startNestedRun(db, { parentId: above.executionId, name, workflowName: workflow.name, inputText, leaseToken });
    }),
  );
  if (quiet.isOver) return never();
  journal.begin(path);
  const body = parts.openBody(child.id, path, above.scope.open());
  const performed = await perform(parts, workflow, child, body);
  body.scope.close();
  if (quiet.isOver) return never();
  if ('aborted' in performed) return stop(performed.aborted);
  const { tally } = body;
  const total = addTallies([tally, journal.total(path)]);
  const ended = judge(performed, total, tally);
  const failure = 'failure' in ended ? toStepFailure(ended) : undefined;
  await journal.write(path, (database, lease) =>
    database.transaction(async (db) => {
      if (!(await endStep(db, lease, { ...place, ...ended, failure, tally }))) return false;
      await endNestedRun(db, { ...ended, id: child.id, tally: total });
      await endNestedRuns(db, [child.id]);
      return true;
    }),
  );
  journal.settle(path, failure ? undefined : tally);
  if (failure) throw toStepError(path, failure);
  return 'outputText' in ended ? JSON.parse(ended.outputText) : undefined;
}

/** What came to its end by itself may still have failed by what it told of its items. */
function judge(performed: Exclude<Performed, { aborted: unknown }>, total: Tally, outside: Tally) {
  if ('failure' in performed) return { ...performed, state: 'failed' as const };
  const judged = judgeItems(total, outside);
  return judged.state === 'failed' ? { ...judged, name: 'Error' } : { ...performed, state: judged.state };
}

type Performed = { outputText: string } | { failure: Failure; name: string } | { aborted: unknown };

async function perform(
  { contextFor, createRedact, signal }: RunParts,
  workflow: AnyWorkflow,
  { input }: NestedRun,
  body: Body,
): Promise<Performed> {
  try {
    const performed = await performWorkflow(workflow, { input, context: contextFor(body), isInputOutdated: async () => false });
    if ('outputText' in performed) return performed;
    const { message } = performed.failure;
    const failure = { ...performed.failure, message: `nested run '${body.path}': ${message}` };
    return { failure: describeFailure(failure, createRedact()), name: 'NonRetryableError' };
  } catch (thrown) {
    if (signal.aborted) return { aborted: thrown };
    return { failure: describeThrown(thrown, createRedact()), name: describeName(thrown) };
  }
}

/** To the run around it, an input that the nested workflow refuses is no different from any other mistake that another attempt would repeat. */
function toStepFailure({ failure: { code, message, stack, isFinal }, name }: { failure: Failure; name: string }): RecordedFailure {
  return { code: isFinal && code !== 'invalid_output' ? 'non_retryable' : code, message, stack, name };
}
