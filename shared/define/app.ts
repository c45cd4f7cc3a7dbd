import type { AnyWorkflow } from '../model/workflow.ts';
import { statedGroups, toManifest } from './declaration.ts';
import type { AppDefinition } from './definition.ts';
import { describeInput } from './describe-input.ts';
import { findMistakes, InvalidAppError } from './find-mistakes.ts';
import { mergeGroups } from './merge-groups.ts';
import { Scheduler } from './scheduler.ts';

export interface AppOptions {
  /** Owns its manifests: a deployment changes and prunes only what belongs to this name. */
  name: string;
  workflows: AnyWorkflow[];
  /** Declares its manifests; it is called at synth, and may be asynchronous. */
  manifests(scheduler: Scheduler): void;
}

/** What a deployment runs and declares. Only executors load it; everything else knows its definition as data. */
export interface App {
  readonly name: string;
  readonly workflows: ReadonlyMap<string, AnyWorkflow>;
  /** Everything it declares, as JSON. Raises all mistakes together. */
  toDefinition(): Promise<AppDefinition>;
}

/** Declares an app: the default export of the module that `cdk deploy` and `waybill dev` are given. */
export function app({ name, workflows, manifests }: AppOptions): App {
  return {
    name,
    // One that is missing, as in a circle of imports, is a mistake that is reported with the others.
    workflows: new Map(workflows.map((workflow) => [workflow?.name, workflow])),
    async toDefinition() {
      const scheduler = new Scheduler();
      await manifests(scheduler);
      const { declarations, batches, mistakes } = scheduler;
      const found = await findMistakes({ name, workflows, declarations, batches, mistakes });
      if (found.length) throw new InvalidAppError(name, found);
      return {
        name,
        workflows: workflows.map((workflow) => ({ name: workflow.name, pool: workflow.pool, ...describeInput(workflow) })),
        groups: mergeGroups(declarations.flatMap(statedGroups)).groups,
        manifests: declarations.map(toManifest),
      };
    },
  };
}
