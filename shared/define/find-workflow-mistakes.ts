import { show } from '../model/show.ts';
import type { AnyWorkflow } from '../model/workflow.ts';
import { findPoolMistakes, isName, NAME_RULE } from './find-manifest-mistakes.ts';
import { findRepeated } from './list-problems.ts';

/** The workflows that come with Waybill are called `waybill/http`; the slash keeps the names that an app gives apart from theirs, now and in later versions. */
const BUILT_IN = /^waybill\/[a-z][a-z0-9-]{0,63}$/;

/** Whether a workflow may be called so: like everything else, or like one that comes with Waybill. */
export function isWorkflowName(name: unknown): name is string {
  return isName(name) || (typeof name === 'string' && BUILT_IN.test(name));
}

/** Whether something has what makes a workflow: a validator for its input, and something to run. */
export function isRunnable(workflow: AnyWorkflow | undefined): workflow is AnyWorkflow {
  return typeof workflow?.input?.['~standard']?.validate === 'function' && typeof workflow.run === 'function';
}

/** An executor finds workflows by name, among those of its app. */
export function findUnusable(workflow: AnyWorkflow | undefined, known: ReadonlyMap<string, AnyWorkflow>): string[] {
  if (!isRunnable(workflow)) return [`its workflow must be made by 'workflow', got ${show(workflow)}`];
  const listed = known.get(workflow.name);
  if (!listed) return [`workflow '${workflow.name}' is not part of the app; add it to 'workflows'`];
  return listed === workflow ? [] : [`its workflow is not the one called '${workflow.name}' in 'workflows'; names must be unique`];
}

export function findWorkflowMistakes(workflows: AnyWorkflow[]): string[] {
  const named = workflows.filter((workflow) => typeof workflow?.name === 'string');
  return [
    ...workflows.flatMap((workflow) => findMistakesOf(workflow)),
    ...findRepeated(named.map(({ name }) => name)).map((twice) => `workflow '${twice}' is listed twice; names must be unique`),
  ];
}

function findMistakesOf(workflow: AnyWorkflow): string[] {
  if (typeof workflow !== 'object' || workflow === null) return [`workflows must be made by 'workflow', got ${show(workflow)}`];
  const { name, pool, input, run } = workflow;
  return [
    ...(isWorkflowName(name) ? [] : [`workflow name ${show(name)} ${NAME_RULE}`]),
    ...findPoolMistakes(pool).map((problem) => `workflow ${show(name)}: ${problem}`),
    ...(typeof input?.['~standard']?.validate === 'function'
      ? []
      : [`workflow ${show(name)}: input must be a Standard Schema validator, such as one of zod or valibot`]),
    ...(typeof run === 'function' ? [] : [`workflow ${show(name)}: run must be a function, got ${show(run)}`]),
  ];
}
