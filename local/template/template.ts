/** The parts of a synthesized CloudFormation template that the local cloud reads. */
export interface Template {
  Resources: Record<string, TemplateResource>;
  Parameters?: Record<string, TemplateParameter>;
  Conditions?: Record<string, unknown>;
  Mappings?: Record<string, Record<string, Record<string, unknown>>>;
  Outputs?: Record<string, { Value: unknown; Condition?: string }>;
  Metadata?: Record<string, unknown>;
}

export interface TemplateResource {
  Type: string;
  Properties?: Record<string, unknown>;
  DependsOn?: string | string[];
  Condition?: string;
  Metadata?: Record<string, unknown>;
}

export interface TemplateParameter {
  Type: string;
  Default?: unknown;
}

/** The template asks for something that cannot be answered here. The message names the place in the template. */
export class TemplateError extends Error {
  override name = 'TemplateError';
}

/** An attribute nobody can answer. Told apart because a permission on such a resource may be left out, while a setting may not. */
export class UnknownAttributeError extends TemplateError {
  override name = 'UnknownAttributeError';
}

/** Whether a value is a JSON object, as opposed to a list, a scalar or nothing. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
