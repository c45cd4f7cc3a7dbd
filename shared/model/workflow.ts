import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { Logger } from '../observability/log.ts';
import type { Dormant } from './dormant.ts';
import type { Jsonify } from './jsonify.ts';

export interface StepOptions {
  /** How often a try that failed is followed by another, within the same attempt; 0 if not said, 100 at most. */
  retries?: number;
  /** How long one try may take. */
  timeoutSeconds?: number;
}

/** What the function of a step is given. */
export interface StepContext {
  /** Aborted with the run, and when the step takes longer than its `timeoutSeconds`. */
  readonly signal: AbortSignal;
}

/** Seconds, or the sum of what is said: `{ hours: 1, minutes: 30 }`. */
export type SleepDuration = number | { days?: number; hours?: number; minutes?: number; seconds?: number };

/** What a running workflow knows of itself, and how it talks to Waybill. */
export interface WorkflowContext {
  /**
   * Does a part of the work once per run: its result is recorded, and a later attempt or continuation of the run gets it from there instead of doing the work again. Killed
   * while it runs, or before its end was recorded, it runs again: what is done inside happens at least once. Results are found by name, in whatever order they
   * are asked for, and pass through JSON the first time too: return a key or a count, and keep the data elsewhere.
   *
   * A workflow whose work is done in steps may run longer than its function: when too little time is left, the next step is not begun and the run goes on in
   * another invocation, which does anew what stands outside of steps.
   */
  step<Result>(name: string, run: (step: StepContext) => Result | Promise<Result>, options?: StepOptions): Promise<Jsonify<Result>>;
  /** Runs another workflow inside of this one, as an execution of its own that shares this one's lease. It is recorded like a step, and so is each step in it. */
  run<Schema extends StandardSchemaV1, Output>(
    name: string,
    workflow: Workflow<Schema, Output>,
    input: StandardSchemaV1.InferInput<Schema>,
  ): Promise<Jsonify<Output>>;
  /** Rests without a function and without a slot, up to a year, once no step is in progress. The instant is recorded: whatever happens meanwhile, it is not slept twice. */
  sleep(name: string, duration: SleepDuration): Promise<void>;
  /** Starts dependents of the running manifest that wait for nothing else. */
  readonly dormant: Dormant;
  /** Says how far the run is, for people who watch it: written every few seconds at the most. */
  progress(done: number, total?: number, message?: string): void;
  /**
   * Counts an item that was dealt with; with an error, as one that failed. If some failed, the run completes with warnings; if all did, it fails. Each failed one is named in the run's log.
   */
  item(key: string, error?: unknown): void;
  /** Says that something is not as it should be: the run completes with warnings. */
  warn(message: string): void;
  /** Aborted when the run times out, is cancelled, or its function is about to end. Pass it on to whatever waits. */
  readonly signal: AbortSignal;
  /** The same for every attempt of one run: give it to systems that can recognize a repeated request. */
  readonly idempotencyKey: string;
  /** The instant this run is for, if a schedule asked for it. */
  readonly occurrenceAt: Date | undefined;
  /** Counts from 1. */
  readonly attempt: number;
  /** When the manifest's last successful run began: the lower edge of what a delta job should read. */
  readonly previousSuccess: { readonly startedAt: Date } | undefined;
  readonly execution: { readonly id: string; readonly runId: string; readonly manifest: string | undefined };
  readonly log: Logger;
}

export interface WorkflowOptions<Schema extends StandardSchemaV1, Output> {
  /** Unique within the app; letters, digits and `._:-`. Only built-in ones are called `waybill/…`. */
  name: string;
  /** Any Standard Schema validator. What it parses is what `run` gets; what was given is what is stored. */
  input: Schema;
  /** The executors that run it; `default` if not said. */
  pool?: string;
  /** For validators that cannot describe themselves as JSON Schema. */
  inputJsonSchema?: Record<string, unknown>;
  /**
   * Mends a stored input that the schema refuses, because it was stored when the schema was another: gives one that the schema takes. If that is refused too, the run is
   * dead-lettered.
   */
  upgradeInput?(input: unknown, issues: readonly StandardSchemaV1.Issue[]): unknown;
  run(context: WorkflowContext, input: StandardSchemaV1.InferOutput<Schema>): Output | Promise<Output>;
}

/** Code with a name and a typed input. */
export interface Workflow<Schema extends StandardSchemaV1 = StandardSchemaV1, Output = unknown> extends WorkflowOptions<Schema, Output> {
  readonly pool: string;
}

// biome-ignore lint/suspicious/noExplicitAny: a list of workflows holds workflows of any input, and `run` is contravariant in it.
export type AnyWorkflow = Workflow<any, any>;
