import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { Logger } from '../observability/log.ts';

/** What a running workflow knows of itself, and how it talks to Waybill. */
export interface WorkflowContext {
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
  /** Unique within the app; letters, digits and `._:-`. */
  name: string;
  /** Any Standard Schema validator. What it parses is what `run` gets; what was given is what is stored. */
  input: Schema;
  /** The executors that run it; `default` if not said. */
  pool?: string;
  /** For validators that cannot describe themselves as JSON Schema. */
  inputJsonSchema?: Record<string, unknown>;
  run(context: WorkflowContext, input: StandardSchemaV1.InferOutput<Schema>): Output | Promise<Output>;
}

/** Code with a name and a typed input. */
export interface Workflow<Schema extends StandardSchemaV1 = StandardSchemaV1, Output = unknown> extends WorkflowOptions<Schema, Output> {
  readonly pool: string;
}

// biome-ignore lint/suspicious/noExplicitAny: a list of workflows holds workflows of any input, and `run` is contravariant in it.
export type AnyWorkflow = Workflow<any, any>;
