import type { InputOf } from '../model/manifest-handle.ts';
import type { AnyWorkflow } from '../model/workflow.ts';
import type { Exclusion } from '../time/exclusion.ts';
import type { BackoffDefinition, GroupDefinition } from './definition.ts';

/** A group by name, or with the settings that the app wants it to have. Without a name it is called like its manifest, or like its batch. */
export type GroupOption = string | (Omit<GroupDefinition, 'name'> & { name?: string });

/** What may be said of any manifest. What is not said keeps its default, or what an operator set. */
export interface ManifestOptions {
  group?: GroupOption;
  /** 0 to 31; more goes first. */
  priority?: number;
  /** The number of consecutive failures at which the manifest is dead-lettered. */
  maxAttempts?: number;
  backoff?: BackoffDefinition;
  timeoutSeconds?: number;
  isEnabled?: boolean;
  pool?: string;
  /** How late it may be before people are told. */
  expectWithinSeconds?: number;
}

/** What may be said of a manifest that runs by cron or interval. */
export interface TimedOptions extends ManifestOptions {
  /** What becomes of an occurrence that is later than the threshold: one run for all that were missed, none, or each of the latest `fireAll`. */
  misfire?: 'fire_once' | 'skip' | { fireAll: number };
  misfireThresholdSeconds?: number;
  /** Spreads starts over this time after the occurrence; never early. */
  jitterSeconds?: number;
  exclude?: Exclusion[];
}

/**
 * A parent by its id or by a handle, of this app or another. An id that nobody here declares belongs to another app, and is looked up when the app is
 * deployed, unless it is a misspelling of one that is declared here; a reference without workflow, `{ externalId }`, is never taken for one.
 */
export type ParentReference = string | { readonly externalId: string; readonly workflow?: AnyWorkflow };

/** A dormant dependent runs only when a running parent activates it, whichever: how many of its parents must have succeeded is no question. */
export type Awakening = { mode?: 'all' | 'any'; dormant?: false } | { dormant: true; mode?: undefined };

/** Whether all of a dependent's parents must have succeeded, or any; or whether it is dormant. And what may be said of any manifest. */
export type DependentBatchOptions = ManifestOptions & Awakening;

export type DependentOptions = DependentBatchOptions & {
  /** Instead of the root or the cursor. */
  dependsOn?: ParentReference | readonly ParentReference[];
};

/** What may be said of a plan. Where it runs is said of its steps; `backoff` is the time between the attempts of a step. */
export type OncePlanOptions = Omit<ManifestOptions, 'pool'>;
export type TimedPlanOptions = Omit<TimedOptions, 'pool'>;
export type DependentPlanOptions = OncePlanOptions & { mode?: 'all' | 'any' } & Pick<DependentOptions, 'dependsOn'>;

/** What may be said of one step of a plan. */
export interface PlanStepOptions {
  /** Whether the plan goes on, with a warning, when this step fails. */
  continueOnFailure?: boolean;
  timeoutSeconds?: number;
  /** 1, unless said otherwise: the step's failure is the plan's. */
  maxAttempts?: number;
  /** Whose capacity it takes: the plan's group, unless said otherwise. */
  group?: GroupOption;
  pool?: string;
  /** A disabled step is shown as skipped, and the plan goes on. */
  isEnabled?: boolean;
}

interface Item<Of extends AnyWorkflow> {
  /** What comes after the name of the batch in the manifest's id. */
  id: string;
  input: InputOf<Of>;
}

/** One manifest of a batch. What it says itself goes before what the batch says. */
export type TimedItem<Of extends AnyWorkflow> = Item<Of> & TimedOptions;
export type DependentItem<Of extends AnyWorkflow> = Item<Of> & DependentOptions;
export type ThenDependentItem<Of extends AnyWorkflow> = DependentItem<Of> & Required<Pick<DependentOptions, 'dependsOn'>>;
