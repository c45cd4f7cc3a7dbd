import type { Exclusion } from '../time/exclusion.ts';

/** A schedule that repeats: what `every` and `cron` make. */
export type TimedSchedule =
  | { type: 'cron'; expression: string; timeZone: string }
  | { type: 'interval'; intervalSeconds: number; anchor: 'occurrence' | 'completion' };

/** A schedule as the app states it. */
export type ScheduleDefinition =
  | TimedSchedule
  /** An ISO 8601 instant. */
  | { type: 'once'; runAt: string }
  /** Runs after its parents, by external id, have succeeded; a dormant one only when a running parent activates it. */
  | { type: 'dependent' | 'dormant_dependent'; dependsOn: string[]; mode: 'all' | 'any' }
  /** Runs only when somebody asks. */
  | { type: 'none' };

export interface BackoffDefinition {
  initialSeconds?: number;
  factor?: number;
  maxSeconds?: number;
  /** The fraction by which each wait varies, 0 to 1. */
  jitter?: number;
}

export interface GroupDefinition {
  name: string;
  priority?: number;
  maxActiveJobs?: number;
  isEnabled?: boolean;
}

/** A step of a plan as data. Nobody but code changes a step, so what is not stated has its default. */
export interface PlanStepDefinition {
  name: string;
  workflow: string;
  input: unknown;
  group: string;
  pool?: string;
  /** Whether the plan goes on, with a warning, when this step fails. */
  continueOnFailure?: boolean;
  timeoutSeconds?: number;
  maxAttempts?: number;
  isEnabled?: boolean;
}

/** A manifest as data. A field that the app does not state is absent, so that an operator's setting survives a deployment. */
export interface ManifestDefinition {
  externalId: string;
  /** Null for a plan, which has steps instead. */
  workflow: string | null;
  /** Of a plan: its groups in the order in which they run, and in each what runs side by side. */
  steps?: PlanStepDefinition[][];
  input: unknown;
  group: string;
  schedule: ScheduleDefinition;
  pool?: string;
  priority?: number;
  maxAttempts?: number;
  backoff?: BackoffDefinition;
  timeoutSeconds?: number;
  isEnabled?: boolean;
  expectWithinSeconds?: number;
  misfire?: { policy: 'fire_once' | 'skip' | 'fire_all'; limit?: number };
  misfireThresholdSeconds?: number;
  jitterSeconds?: number;
  exclusions?: Exclusion[];
}

/** A manifest that runs one workflow. */
export interface JobDefinition extends ManifestDefinition {
  workflow: string;
}

export interface WorkflowDefinition {
  name: string;
  pool: string;
  inputSchema?: Record<string, unknown>;
}

/** Everything an app declares, as JSON: what is validated at synth is what is applied by sync. */
export interface AppDefinition {
  name: string;
  workflows: WorkflowDefinition[];
  groups: GroupDefinition[];
  manifests: ManifestDefinition[];
}
