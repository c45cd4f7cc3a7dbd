import type { InputOf } from '../model/manifest-handle.ts';
import type { AnyWorkflow } from '../model/workflow.ts';
import { type AnyDeclaration, declareDependent, declareOnce, declareTimed, type Place } from './declaration.ts';
import type { TimedSchedule } from './definition.ts';
import type {
  DependentBatchOptions,
  DependentItem,
  DependentOptions,
  DependentPlanOptions,
  ManifestOptions,
  OncePlanOptions,
  ThenDependentItem,
  TimedItem,
  TimedOptions,
  TimedPlanOptions,
} from './options.ts';
import { Plan, planCall } from './plan.ts';
import { type ItemCall, readItems } from './read-items.ts';

/**
 * Collects an app's manifests. A chain has a root and a cursor:
 *
 * | call | its parents, unless `dependsOn` names others | root | cursor |
 * |---|---|---|---|
 * | `schedule`, `scheduleOnce`, `plan`, `planOnce` | none | itself | itself |
 * | `include`, `includePlan` | the root | stays | itself |
 * | `thenInclude`, `thenIncludePlan` | the cursor | stays | itself |
 * | `scheduleMany` | none | the batch | the batch |
 * | `includeMany` | each item: the root | stays | the batch |
 * | `thenIncludeMany` | each item names its own | stays | the batch |
 *
 * A batch is many manifests, so it is nobody's parent by its place: what follows one names its parents in `dependsOn`. Mistakes are not raised here but reported
 * together when the app is built.
 */
export class Scheduler {
  readonly declarations: AnyDeclaration[] = [];
  readonly batches: string[] = [];
  /** What was wrong with calls that declared no manifest. */
  readonly mistakes: string[] = [];
  #root: Place | undefined;
  #cursor: Place | undefined;

  /** Declares that a workflow runs on a schedule. The input is stored as given and validated at synth. */
  schedule<Of extends AnyWorkflow>(
    workflow: Of,
    externalId: string,
    input: InputOf<Of>,
    schedule: TimedSchedule,
    options: TimedOptions = {},
  ): this {
    return this.#begin(declareTimed({ workflow, externalId, input, options }, schedule));
  }

  /** Declares one run at an instant. It keeps its instant through every hold and runs when the hold ends, however late. */
  scheduleOnce<Of extends AnyWorkflow>(
    workflow: Of,
    externalId: string,
    input: InputOf<Of>,
    at: Date | string,
    options: ManifestOptions = {},
  ): this {
    return this.#begin(declareOnce({ workflow, externalId, input, options }, at));
  }

  /**
   * Declares a batch: one manifest per item, with the id `<name>-<id>`, all on the same schedule and, unless said otherwise, in the group called like the batch.
   * The batch owns every id that begins with its name and a dash: an item that is gone from the list is pruned, and nothing else may be called so.
   */
  scheduleMany<Of extends AnyWorkflow>(
    workflow: Of,
    name: string,
    items: readonly TimedItem<Of>[],
    schedule: TimedSchedule,
    options: TimedOptions = {},
  ): this {
    this.#declareMany(name, readItems(workflow, name, items, options), (call) => declareTimed(call, schedule));
    this.#root = { batch: name };
    return this;
  }

  /** Declares a dependent of the root: it runs after each success of what `schedule` declared last. */
  include<Of extends AnyWorkflow>(workflow: Of, externalId: string, input: InputOf<Of>, options: DependentOptions = {}): this {
    return this.#add(declareDependent({ workflow, externalId, input, options }, this.#root));
  }

  /** Declares a dependent of the cursor: it runs after each success of what was declared last. */
  thenInclude<Of extends AnyWorkflow>(workflow: Of, externalId: string, input: InputOf<Of>, options: DependentOptions = {}): this {
    return this.#add(declareDependent({ workflow, externalId, input, options }, this.#cursor));
  }

  /** Declares a batch of dependents, as {@link scheduleMany} does: each of the parents that its item names, or else of the root. */
  includeMany<Of extends AnyWorkflow>(
    workflow: Of,
    name: string,
    items: readonly DependentItem<Of>[],
    options: DependentBatchOptions = {},
  ): this {
    const root = this.#root;
    return this.#declareMany(name, readItems(workflow, name, items, options), (call) => declareDependent(call, root));
  }

  /** Declares a batch of dependents, each of the parents that its item names: what one item of the last batch is to one of this is for the app to say. */
  thenIncludeMany<Of extends AnyWorkflow>(
    workflow: Of,
    name: string,
    items: readonly ThenDependentItem<Of>[],
    options: DependentBatchOptions = {},
  ): this {
    return this.#declareMany(name, readItems(workflow, name, items, options), (call) => declareDependent(call, 'named'));
  }

  /**
   * Declares a plan: steps that run one after the other, or side by side, on a schedule. `plan('nightly', cron('0 2 * * *')).step('import', hrImport, {})`. What is included after it
   * runs after each success of the whole plan.
   */
  plan(externalId: string, schedule: TimedSchedule, options: TimedPlanOptions = {}): Plan {
    const declaration = declareTimed(planCall(externalId, options), schedule);
    this.#begin(declaration);
    return new Plan(declaration);
  }

  /** Declares a plan that runs once, at an instant, as {@link scheduleOnce} does. */
  planOnce(externalId: string, at: Date | string, options: OncePlanOptions = {}): Plan {
    const declaration = declareOnce(planCall(externalId, options), at);
    this.#begin(declaration);
    return new Plan(declaration);
  }

  /** Declares a plan that is a dependent of the root, or of what `dependsOn` names. */
  includePlan(externalId: string, options: DependentPlanOptions = {}): Plan {
    const declaration = declareDependent(planCall(externalId, options), this.#root);
    this.#add(declaration);
    return new Plan(declaration);
  }

  /** Declares a plan that is a dependent of the cursor, or of what `dependsOn` names. */
  thenIncludePlan(externalId: string, options: DependentPlanOptions = {}): Plan {
    const declaration = declareDependent(planCall(externalId, options), this.#cursor);
    this.#add(declaration);
    return new Plan(declaration);
  }

  #begin(declaration: AnyDeclaration): this {
    this.#root = { externalId: declaration.manifest.externalId };
    return this.#add(declaration);
  }

  #add(declaration: AnyDeclaration): this {
    this.declarations.push(declaration);
    this.#cursor = { externalId: declaration.manifest.externalId };
    return this;
  }

  #declareMany(
    name: string,
    { calls, mistakes }: { calls: ItemCall[]; mistakes: string[] },
    declare: (call: ItemCall) => AnyDeclaration,
  ): this {
    this.batches.push(name);
    this.mistakes.push(...mistakes);
    for (const call of calls) this.declarations.push(declare(call));
    this.#cursor = { batch: name };
    return this;
  }
}
