import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { AnyWorkflow, Workflow } from '../model/workflow.ts';
import type { Exclusion } from '../time/exclusion.ts';
import type { BackoffDefinition, GroupDefinition, ManifestDefinition, ScheduleDefinition } from './definition.ts';

/** A group by name, or with the settings that the app wants it to have. Without a name it is called like its manifest. */
export type GroupOption = string | (Omit<GroupDefinition, 'name'> & { name?: string });

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
  expectWithinSeconds?: number;
}

export interface TimedOptions extends ManifestOptions {
  /** What becomes of an occurrence that is later than the threshold: one run for all that were missed, none, or each of the latest `fireAll`. */
  misfire?: 'fire_once' | 'skip' | { fireAll: number };
  misfireThresholdSeconds?: number;
  /** Spreads starts over this time after the occurrence; never early. */
  jitterSeconds?: number;
  exclude?: Exclusion[];
}

export interface DependentOptions extends ManifestOptions {
  /** Instead of the root or the cursor: ids of manifests, of this app or another. */
  dependsOn?: string | string[];
  /** Whether all of its parents must have succeeded, or any. */
  mode?: 'all' | 'any';
}

/** What the builder has heard, before anything is judged. */
export interface Declaration {
  manifest: ManifestDefinition;
  workflow: AnyWorkflow;
  group: GroupDefinition;
}

type InputOf<Schema extends StandardSchemaV1> = StandardSchemaV1.InferInput<Schema>;

/**
 * Collects an app's manifests. `schedule` sets the root and the cursor of a chain; `include` hangs a dependent below the root, `thenInclude` below the cursor, and both move
 * the cursor. Mistakes are not raised here but reported together when the app is built.
 */
export class Scheduler {
  readonly declarations: Declaration[] = [];
  #root: string | undefined;
  #cursor: string | undefined;

  /** Declares that a workflow runs on a schedule. The input is stored as given and validated at synth. */
  schedule<Schema extends StandardSchemaV1, Output>(
    workflow: Workflow<Schema, Output>,
    externalId: string,
    input: InputOf<Schema>,
    schedule: ScheduleDefinition,
    { misfire, exclude, ...options }: TimedOptions = {},
  ): this {
    this.#declare(workflow, externalId, input, schedule, options, {
      ...(misfire && { misfire: typeof misfire === 'string' ? { policy: misfire } : { policy: 'fire_all', limit: misfire.fireAll } }),
      ...(exclude && { exclusions: exclude }),
    });
    this.#root = externalId;
    return this;
  }

  /** Declares one run at an instant. It keeps its instant through every hold and runs when the hold ends, however late. */
  scheduleOnce<Schema extends StandardSchemaV1, Output>(
    workflow: Workflow<Schema, Output>,
    externalId: string,
    input: InputOf<Schema>,
    at: Date | string,
    options: ManifestOptions = {},
  ): this {
    const runAt = typeof at === 'string' ? at : Number.isNaN(at.getTime()) ? 'Invalid Date' : at.toISOString();
    this.#declare(workflow, externalId, input, { type: 'once', runAt }, options);
    this.#root = externalId;
    return this;
  }

  /** Declares a dependent of the root: it runs after each success of what `schedule` declared last. */
  include<Schema extends StandardSchemaV1, Output>(
    workflow: Workflow<Schema, Output>,
    externalId: string,
    input: InputOf<Schema>,
    options: DependentOptions = {},
  ): this {
    return this.#depend(workflow, externalId, input, options, this.#root);
  }

  /** Declares a dependent of the cursor: it runs after each success of what was declared last. */
  thenInclude<Schema extends StandardSchemaV1, Output>(
    workflow: Workflow<Schema, Output>,
    externalId: string,
    input: InputOf<Schema>,
    options: DependentOptions = {},
  ): this {
    return this.#depend(workflow, externalId, input, options, this.#cursor);
  }

  #depend(
    workflow: AnyWorkflow,
    externalId: string,
    input: unknown,
    { dependsOn, mode = 'all', ...options }: DependentOptions,
    parent: string | undefined,
  ): this {
    const parents = dependsOn === undefined ? (parent === undefined ? [] : [parent]) : [dependsOn].flat();
    this.#declare(workflow, externalId, input, { type: 'dependent', dependsOn: [...new Set(parents)], mode }, options);
    return this;
  }

  #declare(
    workflow: AnyWorkflow,
    externalId: string,
    input: unknown,
    schedule: ScheduleDefinition,
    { group: groupOption, ...policies }: ManifestOptions,
    timed: Pick<ManifestDefinition, 'misfire' | 'exclusions'> = {},
  ): void {
    const settings = typeof groupOption === 'string' ? { name: groupOption } : groupOption;
    const group = { ...settings, name: settings?.name ?? externalId };
    const manifest: ManifestDefinition = { externalId, workflow: workflow.name, input, group: group.name, schedule, ...policies, ...timed };
    this.declarations.push({ manifest, workflow, group });
    this.#cursor = externalId;
  }
}
