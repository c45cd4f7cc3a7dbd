import { show } from '../model/show.ts';
import type { AnyWorkflow } from '../model/workflow.ts';
import type { DeclaredStep } from './declaration.ts';
import { findInputMistakes } from './find-input-mistakes.ts';
import {
  findFlagMistakes,
  findGroupMistakes,
  findGroupNameMistakes,
  findLimitMistakes,
  findPoolMistakes,
} from './find-manifest-mistakes.ts';
import { findUnusable, isRunnable } from './find-workflow-mistakes.ts';
import { findRepeated } from './list-problems.ts';

/** Starting a plan makes all of its steps in one transaction, and every page that shows it shows all of them. */
const MOST_STEPS = 500;
const LONGEST_NAME = 200;

/** What is wrong with the steps of a plan. Each problem names its step. */
export async function findPlanMistakes(groups: DeclaredStep[][], known: ReadonlyMap<string, AnyWorkflow>): Promise<string[]> {
  const steps = groups.flat();
  const problems = await Promise.all(steps.map((step) => findStepMistakes(step, known)));
  return [...findShapeMistakes(groups, steps), ...problems.flat()];
}

function findShapeMistakes(groups: DeclaredStep[][], steps: DeclaredStep[]): string[] {
  if (!groups.length) return ["it has no steps, so a run would do nothing; add some with 'step' or 'parallel'"];
  return [
    ...groups.flatMap((group, index) => (group.length ? [] : [findNothingIn(groups.slice(0, index).flat().at(-1))])),
    ...findRepeated(steps.map(({ step }) => step.name)).map((twice) => `it has two steps called ${show(twice)}; names must be unique`),
    ...(steps.length > MOST_STEPS ? [`it has ${steps.length} steps; at most ${MOST_STEPS} are allowed`] : []),
    ...(steps.length && steps.every(({ step }) => step.isEnabled === false)
      ? ['all of its steps are disabled, so a run would do nothing; enable one, or disable the plan itself']
      : []),
  ];
}

function findNothingIn(before: DeclaredStep | undefined): string {
  const place = before ? `after step ${show(before.step.name)}` : 'at its beginning';
  return `its 'parallel' ${place} has no steps; add some to the group that it gives, or leave it out`;
}

async function findStepMistakes({ step, workflow, group, problems }: DeclaredStep, known: ReadonlyMap<string, AnyWorkflow>) {
  const { name, pool } = step;
  const found = [
    ...findUnusable(workflow, known),
    ...problems,
    ...findNameMistakes(name),
    ...findLimitMistakes(step),
    ...(pool === undefined ? [] : findPoolMistakes(pool)),
    ...findFlagMistakes('isEnabled', step.isEnabled),
    ...findFlagMistakes('continueOnFailure', step.continueOnFailure),
    ...findGroupNameMistakes(step.group),
    ...findGroupMistakes(group),
    ...(isRunnable(workflow) ? await findInputMistakes(workflow, step.input) : []),
  ];
  return found.map((problem) => `step ${show(name)}: ${problem}`);
}

function findNameMistakes(name: unknown): string[] {
  const isText = typeof name === 'string' && name.length >= 1 && name.length <= LONGEST_NAME && name.isWellFormed() && !name.includes('\0');
  return isText ? [] : [`its name must be 1 to ${LONGEST_NAME} characters of well-formed text, without U+0000`];
}
