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
  /** What becomes of an occurrence that is later than the threshold. */
  misfire?: 'fire_once' | 'skip';
  misfireThresholdSeconds?: number;
  /** Spreads starts over this time after the occurrence; never early. */
  jitterSeconds?: number;
  exclude?: Exclusion[];
}

/** What the builder has heard, before anything is judged. */
export interface Declaration {
  manifest: ManifestDefinition;
  workflow: AnyWorkflow;
  group: GroupDefinition;
}

/** Collects an app's manifests. Mistakes are not raised here but reported together when the app is built. */
export class Scheduler {
  readonly declarations: Declaration[] = [];

  /** Declares that a workflow runs on a schedule. The input is stored as given and validated at synth. */
  schedule<Schema extends StandardSchemaV1, Output>(
    workflow: Workflow<Schema, Output>,
    externalId: string,
    input: StandardSchemaV1.InferInput<Schema>,
    schedule: ScheduleDefinition,
    options: TimedOptions = {},
  ): this {
    const { group: groupOption, misfire, exclude, ...policies } = options;
    const settings = typeof groupOption === 'string' ? { name: groupOption } : groupOption;
    const group = { ...settings, name: settings?.name ?? externalId };
    const manifest: ManifestDefinition = {
      externalId,
      workflow: workflow.name,
      input,
      group: group.name,
      schedule,
      ...policies,
      ...(misfire && { misfire: { policy: misfire } }),
      ...(exclude && { exclusions: exclude }),
    };
    this.declarations.push({ manifest, workflow, group });
    return this;
  }
}
