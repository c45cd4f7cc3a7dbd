import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { AnyWorkflow } from './workflow.ts';

/** What a workflow's schema takes: the input as it is given and stored. `run` gets what the schema makes of it. */
export type InputOf<Of extends AnyWorkflow> = StandardSchemaV1.InferInput<Of['input']>;

/** A manifest by its id, with the workflow that it runs: whoever names it by its handle also knows, and the compiler checks, what input it takes. */
export interface ManifestHandle<Of extends AnyWorkflow = AnyWorkflow> {
  readonly externalId: string;
  readonly workflow: Of;
}
