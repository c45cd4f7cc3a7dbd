import { WaybillError } from '../errors.ts';
import { show } from '../model/show.ts';
import type { AnyWorkflow } from '../model/workflow.ts';
import { type AnyDeclaration, statedGroups } from './declaration.ts';
import { findBatchMistakes } from './find-batch-mistakes.ts';
import { findGraphMistakes } from './find-graph-mistakes.ts';
import { findInputMistakes } from './find-input-mistakes.ts';
import { findGroupMistakes, findManifestMistakes, isName, NAME_RULE } from './find-manifest-mistakes.ts';
import { findParentMistakes } from './find-parent-mistakes.ts';
import { findPlanMistakes } from './find-plan-mistakes.ts';
import { findUnusable, findWorkflowMistakes, isRunnable } from './find-workflow-mistakes.ts';
import { findRepeated, listProblems, type Problem } from './list-problems.ts';
import { mergeGroups } from './merge-groups.ts';
import type { Scheduler } from './scheduler.ts';

/** Everything that is wrong with an app, in one error: nobody should deploy five times to learn of five mistakes. */
export class InvalidAppError extends WaybillError {
  readonly mistakes: readonly string[];
  constructor(name: string, mistakes: string[]) {
    super(
      'invalid_app',
      `app '${name}' has ${mistakes.length === 1 ? 'a mistake' : `${mistakes.length} mistakes`}:\n${mistakes.map((one) => `  - ${one}`).join('\n')}`,
    );
    this.mistakes = mistakes;
  }
}

/** What an app has said, before anything is judged. */
export interface Heard extends Pick<Scheduler, 'declarations' | 'batches' | 'mistakes'> {
  name: string;
  workflows: AnyWorkflow[];
}

/** Checks what the compiler cannot. Each mistake names the manifest, the field, what was received and what is allowed. */
export async function findMistakes({ name, workflows, declarations, batches, mistakes }: Heard): Promise<string[]> {
  const known = new Map(workflows.map((workflow) => [workflow?.name, workflow]));
  const problems = await Promise.all(declarations.map((declaration) => checkDeclaration(declaration, known)));
  return [
    ...(isName(name) ? [] : [`app name ${show(name)} ${NAME_RULE}`]),
    ...findWorkflowMistakes(workflows),
    ...findRepeated(declarations.map(({ manifest }) => manifest.externalId)).map(
      (twice) => `manifest '${twice}' is declared twice; ids must be unique`,
    ),
    ...findBatchMistakes(batches, declarations),
    ...mistakes,
    ...listProblems([...problems.flat(), ...findParentMistakes(declarations, known, batches)]),
    ...mergeGroups(declarations.flatMap(statedGroups)).mistakes,
    ...findGraphMistakes(declarations),
  ];
}

async function checkDeclaration(declaration: AnyDeclaration, known: Map<string, AnyWorkflow>): Promise<Problem[]> {
  const { manifest, workflow, steps, group, batch, problems } = declaration;
  const found = [
    ...(steps ? [] : findUnusable(workflow, known)),
    ...problems,
    ...findManifestMistakes(manifest),
    ...findGroupMistakes(group),
    ...(isRunnable(workflow) ? await findInputMistakes(workflow, manifest.input) : []),
    ...(steps ? await findPlanMistakes(steps, known) : []),
  ];
  return found.map((problem) => ({ externalId: manifest.externalId, batch, problem }));
}
