import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { Workflow, WorkflowOptions } from '../model/workflow.ts';

/** Declares a workflow: code with a name and a typed input, that manifests run. */
export function workflow<Schema extends StandardSchemaV1, Output>(options: WorkflowOptions<Schema, Output>): Workflow<Schema, Output> {
  return { pool: 'default', ...options };
}
