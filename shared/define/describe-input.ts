import type { AnyWorkflow } from '../model/workflow.ts';

interface SelfDescribing {
  jsonSchema?: { input(options: { target: string }): Record<string, unknown> };
}

/** The JSON Schema of a workflow's input: stated, or told by a validator that can describe itself. Without one, only the executor validates. */
export function describeInput({ input, inputJsonSchema }: AnyWorkflow): { inputSchema?: Record<string, unknown> } {
  if (inputJsonSchema) return { inputSchema: inputJsonSchema };
  try {
    const described = (input['~standard'] as SelfDescribing).jsonSchema?.input({ target: 'draft-2020-12' });
    return described ? { inputSchema: described } : {};
  } catch {
    // A schema with parts that JSON Schema cannot say (a transform, a custom check) is still a schema.
    return {};
  }
}
