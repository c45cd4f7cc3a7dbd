import type { InputOf } from '../model/manifest-handle.ts';
import { show } from '../model/show.ts';
import type { AnyWorkflow } from '../model/workflow.ts';
import type { DeclaredStep, PlanCall, PlanDeclaration } from './declaration.ts';
import type { PlanStepOptions } from './options.ts';
import { readOptions } from './read-options.ts';

/**
 * A plan that is being declared: groups of steps, each of which begins when everything in the one before has ended well. It may stand for its manifest in `dependsOn`. Mistakes are not
 * raised here but reported together when the app is built.
 */
export class Plan {
  readonly externalId: string;
  readonly #declaration: PlanDeclaration;
  readonly #groups: DeclaredStep[][];

  constructor(declaration: PlanDeclaration) {
    this.externalId = declaration.manifest.externalId;
    this.#declaration = declaration;
    this.#groups = declaration.steps;
  }

  /** Adds a step that runs by itself, after everything before it and before everything after it. */
  step<Of extends AnyWorkflow>(name: string, workflow: Of, input: InputOf<Of>, options: PlanStepOptions = {}): this {
    this.#groups.push([readStep(this.#declaration, { name, workflow, input, options })]);
    return this;
  }

  /** Adds steps that run side by side: `parallel((group) => group.step(…).step(…))`. What comes after waits for all of them. */
  parallel(declare: (group: PlanGroup) => unknown): this {
    const steps: DeclaredStep[] = [];
    this.#groups.push(steps);
    if (typeof declare === 'function') declare(new PlanGroup(this.#declaration, steps));
    else this.#declaration.problems.push(`'parallel' takes a function that adds steps to its group, got ${show(declare)}`);
    return this;
  }
}

/** Steps of a plan that run side by side. */
export class PlanGroup {
  readonly #declaration: PlanDeclaration;
  readonly #steps: DeclaredStep[];

  constructor(declaration: PlanDeclaration, steps: DeclaredStep[]) {
    this.#declaration = declaration;
    this.#steps = steps;
  }

  /** Adds a step beside the others of this group. */
  step<Of extends AnyWorkflow>(name: string, workflow: Of, input: InputOf<Of>, options: PlanStepOptions = {}): this {
    this.#steps.push(readStep(this.#declaration, { name, workflow, input, options }));
    return this;
  }
}

/** What the builder hears of a plan at first: it has no steps yet. Nothing takes its input. */
export function planCall(externalId: string, options: object): PlanCall {
  return { externalId, input: {}, options, steps: [] };
}

interface StepCall {
  name: string;
  workflow: AnyWorkflow;
  input: unknown;
  options: PlanStepOptions;
}

/** A step is in the group of its plan unless it says otherwise: capacity is what its plan's people have agreed on. */
function readStep({ manifest }: PlanDeclaration, { name, workflow, input, options }: StepCall): DeclaredStep {
  const { group, policies, problems } = readOptions('step', options, manifest.group);
  const { continueOnFailure } = options ?? {};
  return {
    step: {
      name,
      workflow: workflow?.name,
      input,
      group: group.name,
      ...policies,
      ...(continueOnFailure !== undefined && { continueOnFailure }),
    },
    workflow,
    group,
    problems,
  };
}
