import type { StandardSchemaV1 } from '@standard-schema/spec';
import { toStorableJson } from '../model/json.ts';
import type { AnyWorkflow, WorkflowContext } from '../model/workflow.ts';
import type { Failure } from '../transitions/end-runs.ts';

export interface PerformWorkflow {
  input: unknown;
  context: WorkflowContext;
  /** Whether the input was stored before the workflow was last deployed; asked only about one that the schema refuses. */
  isInputOutdated(): Promise<boolean>;
}

export type PerformedWorkflow = { outputText: string } | { failure: Failure };

/** Validates the input and runs the workflow, nested or not. What it throws is raised; what it was given or has returned and cannot be used is a failure. */
export async function performWorkflow(
  workflow: AnyWorkflow,
  { input, context, isInputOutdated }: PerformWorkflow,
): Promise<PerformedWorkflow> {
  const { signal } = context;
  signal.throwIfAborted();
  const parsed = await validate(workflow, input);
  if (parsed.issues) {
    const code = (await isInputOutdated()) ? 'input_outdated' : 'invalid_input';
    return { failure: { code, message: describeIssues(parsed.issues), isFinal: true } };
  }
  // A validator that outlasted the run must not start it.
  signal.throwIfAborted();
  const output = toStorableJson(await workflow.run(context, parsed.value));
  if ('text' in output) return { outputText: output.text };
  return { failure: { code: 'invalid_output', message: `the output cannot be stored: ${output.problem}`, isFinal: true } };
}

/** An input that the schema of today refuses may be mended by the workflow. What it makes of it is used and not stored: a later attempt mends it again. */
async function validate(workflow: AnyWorkflow, input: unknown): Promise<StandardSchemaV1.Result<unknown>> {
  const parsed: StandardSchemaV1.Result<unknown> = await workflow.input['~standard'].validate(input);
  if (!parsed.issues || !workflow.upgradeInput) return parsed;
  return workflow.input['~standard'].validate(await workflow.upgradeInput(input, parsed.issues));
}

function describeIssues(issues: readonly StandardSchemaV1.Issue[]): string {
  const lines = issues.slice(0, 10).map(({ message, path = [] }) => {
    const place = path.map((part) => String((part as { key?: unknown } | null)?.key ?? part)).join('.');
    return place ? `${place}: ${message}` : message;
  });
  return `the input is invalid: ${lines.join('; ')}${issues.length > 10 ? `; and ${issues.length - 10} more` : ''}`;
}
